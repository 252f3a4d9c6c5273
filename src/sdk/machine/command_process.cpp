#include "sdk/machine/command_process.hpp"

#include "base/descriptor.hpp"
#include "base/process/pipe.hpp"
#include "base/scope_exit.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;  // NOLINT: POSIX says so

namespace crab::sdk {
namespace {

constexpr std::size_t kErrorTail = 2048;
constexpr std::size_t kMaxVariable = 100 * 1024;  // Linux refuses a single one above 128 KiB
constexpr Milliseconds kMercy{500};               // between SIGTERM and SIGKILL

std::string reason(int error) { return std::generic_category().message(error); }

void set_nonblocking(const Descriptor& descriptor) {
    ::fcntl(descriptor.get(), F_SETFL, ::fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

std::vector<std::string> environment_of(const CommandRun& run) {
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        if (!std::string_view(*variable).starts_with("CRAB_TOKEN="))
            variables.emplace_back(*variable);
    }
    for (const auto& [name, value] : run.environment) {
        std::string variable = name + "=" + value;
        if (variable.size() <= kMaxVariable) variables.push_back(std::move(variable));
    }
    return variables;
}

/// A child process and the three pipes to it.
class Child {
public:
    /// Returns an errno.
    int start(const CommandRun& run) {
        Pipe in, out, err;
        if (!in.open() || !out.open() || !err.open()) return errno;
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawnattr_init(&attributes);
        const ScopeExit release([&] {
            ::posix_spawn_file_actions_destroy(&actions);
            ::posix_spawnattr_destroy(&attributes);
        });
        ::posix_spawn_file_actions_adddup2(&actions, in.read_end.get(), STDIN_FILENO);
        ::posix_spawn_file_actions_adddup2(&actions, out.write_end.get(), STDOUT_FILENO);
        ::posix_spawn_file_actions_adddup2(&actions, err.write_end.get(), STDERR_FILENO);
        sigset_t none, all;
        ::sigemptyset(&none);
        ::sigfillset(&all);
        ::posix_spawnattr_setsigmask(&attributes, &none);
        ::posix_spawnattr_setsigdefault(&attributes, &all);
        ::posix_spawnattr_setpgroup(&attributes, 0);
        ::posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        auto words = run.words;
        auto variables = environment_of(run);
        const int error = ::posix_spawnp(&pid_, words.front().c_str(), &actions, &attributes,
                                         pointers_to(words).data(), pointers_to(variables).data());
        if (error != 0) {
            pid_ = -1;
            return error;
        }
        ended = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
        input = std::move(in.write_end);
        output = std::move(out.read_end);
        errors = std::move(err.read_end);
        for (const Descriptor* end : {&input, &output, &errors}) set_nonblocking(*end);
        return 0;
    }
    ~Child() {
        if (pid_ > 0) reap();
    }
    void kill_group(int signal) const { ::kill(-pid_, signal); }
    /// Ends what is left of the group and waits for the child.
    siginfo_t reap() {
        kill_group(SIGKILL);  // the child itself is a zombie by now, or has been told often enough
        siginfo_t info{};
        while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {}
        pid_ = -1;
        return info;
    }

    Descriptor input, output, errors, ended;

private:
    pid_t pid_ = -1;
};

/// Reads what is there, within reason: who prints without end must not keep us from looking at the
/// clock. Closes at the end.
void drain(Descriptor& from, const std::function<void(std::string_view)>& take) {
    std::array<char, 16 * 1024> part{};
    for (int turns = 0; from.is_open() && turns < 16; ++turns) {
        const ssize_t n = ::read(from.get(), part.data(), part.size());
        if (n > 0) {
            take({part.data(), static_cast<std::size_t>(n)});
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            from.close();
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

/// Wakes the poll below from another thread, even when that comes after the run is over.
class CancelFlag {
public:
    CancelFlag() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    void raise() const {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t n = ::write(event_.get(), &one, sizeof one);
    }
    int fd() const { return event_.get(); }

private:
    Descriptor event_;
};

/// The writer of a pipe whose reader is gone must not be killed for it.
class NoBrokenPipeSignal {
public:
    NoBrokenPipeSignal() {
        ::sigemptyset(&pipe_);
        ::sigaddset(&pipe_, SIGPIPE);
        ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~NoBrokenPipeSignal() {
        const timespec now{};
        while (::sigtimedwait(&pipe_, nullptr, &now) > 0) {}
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t pipe_{}, before_{};
};

/// One run, from start to end.
class Attendance {
public:
    explicit Attendance(const CommandRun& run) : run_(run), to_write_(run.input) {}

    Result<CommandEnd> attend(Child& child, int cancel_fd) {
        if (to_write_.empty()) child.input.close();
        while (true) {
            std::array<pollfd, 5> waits{{{child.ended.get(), POLLIN, 0},
                                         {child.output.get(), POLLIN, 0},
                                         {child.errors.get(), POLLIN, 0},
                                         {child.input.get(), POLLOUT, 0},
                                         {giving_up_ ? -1 : cancel_fd, POLLIN, 0}}};
            ::poll(waits.data(), waits.size(), poll_timeout());
            read_from(child);
            if (waits[3].revents != 0) write_to(child);
            if (waits[4].revents != 0)
                give_up(child, ErrorCode::kCancelled, "the call was cancelled");
            if (end_.output.size() > run_.max_output_bytes) {
                give_up(
                    child, ErrorCode::kOversize,
                    fmt::format("the command printed more than {} bytes", run_.max_output_bytes));
            }
            if (std::chrono::steady_clock::now() >= limit()) {
                if (giving_up_) {
                    child.kill_group(SIGKILL);
                    mercy_ends_ = kNoDeadline;
                } else {
                    give_up(child, ErrorCode::kTimeout,
                            "the command did not end before the deadline");
                }
            }
            if ((waits[0].revents & POLLIN) != 0) return finish(child);
        }
    }

private:
    Deadline limit() const { return giving_up_ ? mercy_ends_ : run_.deadline; }
    int poll_timeout() const {
        if (limit() == kNoDeadline) return -1;
        const auto left =
            std::chrono::ceil<Milliseconds>(limit() - std::chrono::steady_clock::now()).count();
        return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
    }
    void give_up(Child& child, ErrorCode code, std::string message) {
        if (giving_up_) return;
        giving_up_ = Error{.code = code, .message = std::move(message)};
        mercy_ends_ = std::chrono::steady_clock::now() + kMercy;
        child.kill_group(SIGTERM);
    }
    void read_from(Child& child) {
        drain(child.output, [&](std::string_view part) {
            if (end_.output.size() <= run_.max_output_bytes) end_.output += part;
        });
        tell_lines();
        drain(child.errors, [&](std::string_view part) {
            end_.last_errors += part;
            if (end_.last_errors.size() > 2 * kErrorTail)
                end_.last_errors.erase(0, end_.last_errors.size() - kErrorTail);
        });
    }
    void tell_lines() {
        if (!run_.on_line) return;
        for (std::size_t end; (end = end_.output.find('\n', told_)) != std::string::npos;
             told_ = end + 1) {
            const std::string_view line = std::string_view(end_.output).substr(told_, end - told_);
            if (!line.empty()) run_.on_line(line);
        }
    }
    void write_to(Child& child) {
        const ssize_t n = ::write(child.input.get(), to_write_.data(), to_write_.size());
        if (n > 0) to_write_.remove_prefix(static_cast<std::size_t>(n));
        // it need not read it
        if (to_write_.empty() || (n < 0 && errno != EAGAIN && errno != EINTR)) child.input.close();
    }
    Result<CommandEnd> finish(Child& child) {
        // what it left in the pipes; what its own children still say is not waited for
        read_from(child);
        const siginfo_t info = child.reap();
        if (giving_up_) return fail(std::move(*giving_up_));
        if (end_.output.size() > run_.max_output_bytes) {
            return fail(ErrorCode::kOversize, fmt::format("the command printed more than {} bytes",
                                                          run_.max_output_bytes));
        }
        if (end_.last_errors.size() > kErrorTail)
            end_.last_errors.erase(0, end_.last_errors.size() - kErrorTail);
        end_.exit_status = info.si_code == CLD_EXITED ? info.si_status : -1;
        end_.signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
        return std::move(end_);
    }

    const CommandRun& run_;
    std::string_view to_write_;
    CommandEnd end_;
    std::size_t told_ = 0;  ///< of the output, in whole lines
    std::optional<Error> giving_up_;
    Deadline mercy_ends_ = kNoDeadline;
};

}  // namespace

Result<CommandEnd> run_command(const CommandRun& run) {
    const NoBrokenPipeSignal quiet;
    const auto cancel = std::make_shared<CancelFlag>();
    Child child;
    if (const int error = child.start(run); error != 0) {
        return fail(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                    fmt::format("the command `{}` cannot be started: {}", run.words.front(),
                                reason(error)));
    }
    if (run.on_cancel) run.on_cancel([cancel] { cancel->raise(); });
    return Attendance(run).attend(child, cancel->fd());
}

}  // namespace crab::sdk
