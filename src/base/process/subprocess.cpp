#include "base/process/subprocess.hpp"

#include "base/process/child.hpp"
#include "base/process/pipe.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab {
namespace {

constexpr std::int64_t kLookAroundMs = 50;  // where the kernel gives no pidfd
constexpr int kReadsAtOnce = 16;   // who prints without end must not keep us from the clock
constexpr int kLastReads = 128;    // what a pipe can hold at most, twice

bool names(std::string_view variable, std::string_view name) {
    return variable.starts_with(name) && variable.substr(name.size()).starts_with('=');
}

std::vector<std::string> environment_of(const SubprocessOptions& options) {
    std::vector<std::string> merged;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view variable = *entry;
        const bool replaced = std::ranges::any_of(
            options.environment, [&](const auto& own) { return names(variable, own.first); });
        const bool hidden = std::ranges::any_of(
            options.hidden, [&](const std::string& name) { return names(variable, name); });
        if (!replaced && !hidden) merged.emplace_back(variable);
    }
    for (const auto& [name, value] : options.environment)
        merged.push_back(fmt::format("{}={}", name, value));
    return merged;
}

/// Reads what is there, and closes at the end.
template <class Take>
void drain(Descriptor& from, int most, Take take) {
    std::array<char, 16 * 1024> part;
    for (int reads = 0; from.is_open() && reads < most; ++reads) {
        const ssize_t got = ::read(from.get(), part.data(), part.size());
        if (got > 0) {
            take(std::string_view(part.data(), static_cast<std::size_t>(got)));
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            from.close();
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

/// One run, from start to end.
class Run {
public:
    explicit Run(const SubprocessOptions& options) : options_(options), unsent_(options.input) {}

    Result<void> start() {
        Pipe input, output, errors;
        if (!input.open() || !output.open() || !errors.open())
            return fail(ErrorCode::kUnavailable,
                        fmt::format("no pipe for a program: {}", std::strerror(errno)));
        const int failed = child_.start(
            {.words = options_.argv,
             .environment = environment_of(options_),
             .standard = {input.read_end.get(), output.write_end.get(), errors.write_end.get()}});
        if (failed != 0)
            return fail(failed == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                        fmt::format("the program `{}` cannot be started: {}", options_.argv.front(),
                                    std::strerror(failed)));
        input_ = std::move(input.write_end);
        output_ = std::move(output.read_end);
        errors_ = std::move(errors.read_end);
        for (const Descriptor* end : {&input_, &output_, &errors_})
            ::fcntl(end->get(), F_SETFL, O_NONBLOCK);
        if (unsent_.empty()) input_.close();
        return {};
    }

    Result<SubprocessEnd> attend() {
        while (!wait()) {
            read(kReadsAtOnce);
            look();
        }
        // All that it wrote is in the pipes by now. What it left behind ends with it; a daemon that
        // left its group may hold the pipes open for ever.
        read(kLastReads);
        const ChildEnd end = child_.reap();
        if (too_much()) stop(ErrorCode::kOversize, too_much_text());
        if (stopped_) return fail(std::move(*stopped_));
        cut_errors(options_.error_tail_bytes);
        end_.exit_status = end.status();
        end_.signal = end.signal;
        return std::move(end_);
    }

private:
    /// Waits for something to do; true once the program has ended.
    bool wait() {
        const int stop = stopped_ || !options_.stop ? -1 : options_.stop->fd();
        std::array<pollfd, 5> watched{{{child_.ended(), POLLIN, 0},
                                       {output_.get(), POLLIN, 0},
                                       {errors_.get(), POLLIN, 0},
                                       {input_.get(), POLLOUT, 0},
                                       {stop, POLLIN, 0}}};
        ::poll(watched.data(), watched.size(), pause());
        if (watched[3].revents != 0) write();
        if (watched[4].revents != 0) this->stop(ErrorCode::kCancelled, "the program was cancelled");
        return child_.ended() < 0 ? child_.has_ended() : watched[0].revents != 0;
    }
    int pause() const {
        std::int64_t left = std::numeric_limits<int>::max();
        if (limit() != kNoDeadline)
            left =
                std::chrono::ceil<Milliseconds>(limit() - std::chrono::steady_clock::now()).count();
        if (child_.ended() < 0) left = std::min(left, kLookAroundMs);
        if (limit() == kNoDeadline && child_.ended() >= 0) return -1;
        return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
    }
    /// Of the run, or of the grace period once it is to end.
    Deadline limit() const { return stopped_ ? kill_at_ : options_.deadline; }

    void look() {
        if (too_much()) stop(ErrorCode::kOversize, too_much_text());
        if (std::chrono::steady_clock::now() < limit()) return;
        if (!stopped_) {
            stop(ErrorCode::kTimeout, "the program did not end before its deadline");
        } else {
            child_.kill_group(SIGKILL);
            kill_at_ = kNoDeadline;
        }
    }
    void stop(ErrorCode code, std::string message) {
        if (stopped_) return;
        stopped_ = Error{.code = code, .message = std::move(message)};
        const bool at_once = options_.grace.count() == 0;
        child_.kill_group(at_once ? SIGKILL : SIGTERM);
        if (!at_once) kill_at_ = std::chrono::steady_clock::now() + options_.grace;
    }
    bool too_much() const { return end_.output.size() > options_.max_output_bytes; }
    std::string too_much_text() const {
        return fmt::format("the program wrote more than {} bytes", options_.max_output_bytes);
    }

    void write() {
        const ssize_t put = write_quietly(input_.get(), unsent_);
        if (put > 0) unsent_.remove_prefix(static_cast<std::size_t>(put));
        // it need not read it
        if (unsent_.empty() || (put < 0 && errno != EAGAIN && errno != EINTR)) input_.close();
    }
    void read(int most) {
        drain(output_, most, [&](std::string_view part) {
            if (!too_much()) end_.output += part;
        });
        tell_lines();
        drain(errors_, most, [&](std::string_view part) {
            end_.error_tail += part;
            if (end_.error_tail.size() > 2 * options_.error_tail_bytes)
                cut_errors(options_.error_tail_bytes);
        });
    }
    void tell_lines() {
        if (!options_.on_line) return;
        for (std::size_t end; (end = end_.output.find('\n', told_)) != std::string::npos;
             told_ = end + 1) {
            const std::string_view line = std::string_view(end_.output).substr(told_, end - told_);
            if (!line.empty()) options_.on_line(line);
        }
    }
    void cut_errors(std::size_t most) {
        if (end_.error_tail.size() > most) end_.error_tail.erase(0, end_.error_tail.size() - most);
    }

    const SubprocessOptions& options_;
    std::string_view unsent_;
    Descriptor input_, output_, errors_;
    SubprocessEnd end_;
    std::size_t told_ = 0;  ///< of the output, in whole lines
    std::optional<Error> stopped_;
    Deadline kill_at_ = kNoDeadline;
    Child child_;
};

}  // namespace

Result<SubprocessEnd> run_subprocess(const SubprocessOptions& options) {
    if (options.argv.empty()) return fail(ErrorCode::kInvalidArgs, "no program was named");
    Run run(options);
    if (auto started = run.start(); !started) return fail(std::move(started.error()));
    return run.attend();
}

}  // namespace crab
