#include "adapters/mcp/client/child_transport.hpp"

#include "adapters/mcp/client/ending_child.hpp"
#include "adapters/mcp/wire/message_writer.hpp"
#include "base/log.hpp"
#include "base/process/pipe.hpp"
#include "base/scope_exit.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <span>
#include <vector>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr std::size_t kReadPerTurn = std::size_t{256} << 10;
constexpr std::size_t kLinesPerWrite = 64;
constexpr std::chrono::minutes kNoiseLoggedEvery{1};

void do_not_block(const Descriptor& fd) { ::fcntl(fd.get(), F_SETFL, O_NONBLOCK); }

}  // namespace

ChildTransport::ChildTransport(net::EventLoop& loop, Options options)
    : loop_(loop), options_(std::move(options)), lines_(options_.max_line), gone_(loop.timers()) {}

ChildTransport::~ChildTransport() {
    close_watches();
    if (!child_.is_there()) return;
    signal_child(SIGKILL);
    leave_child(options_.grace);
}

void ChildTransport::close_watches() {
    for (const auto& watch : {input_, output_, error_output_, pidfd_}) {
        if (watch) watch->close();
    }
}

Result<void> ChildTransport::start_child(ChildProgram program) {
    const auto failed = [this](std::string_view why) {
        return fail(
            ErrorCode::kUnavailable,
            fmt::format("the MCP server {} could not be started: {}", options_.source, why));
    };
    if (options_.child.wrap) {
        auto wrapped = options_.child.wrap(std::move(program));
        if (!wrapped) return failed(wrapped.error().message);
        program = std::move(wrapped->program);
        supervisor_ = std::move(wrapped->supervisor);
    }
    if (const int error = child_.start(std::move(program)); error != 0)
        return failed(std::strerror(error));
    if (supervisor_) supervisor_->started();
    return {};
}

Task<Result<void>> ChildTransport::start(Deadline) {
    Pipe input, output, errors;
    if (!input.open() || !output.open() || !errors.open())
        co_return fail(ErrorCode::kUnavailable,
                       "no pipe for an MCP server: " + std::string(std::strerror(errno)));
    ChildProgram program{
        .words = options_.child.words,
        .environment = options_.child.environment,
        .standard = {input.read_end.get(), output.write_end.get(), errors.write_end.get()},
        .folder = options_.child.folder,
        .dies_with_thread = true};
    if (auto started = start_child(std::move(program)); !started)
        co_return fail(std::move(started.error()));
    for (const Descriptor* fd : {&input.write_end, &output.read_end, &errors.read_end})
        do_not_block(*fd);
    input_ =
        std::make_shared<FdWatch>(loop_, std::move(input.write_end), [this] { write_queued(); });
    output_ =
        std::make_shared<FdWatch>(loop_, std::move(output.read_end), [this] { read_output(); });
    error_output_ =
        std::make_shared<FdWatch>(loop_, std::move(errors.read_end), [this] { read_errors(); });
    pidfd_ = std::make_shared<FdWatch>(loop_, child_.ended(), [this] { look_for_end(); });
    if (!input_->begin(EPOLLOUT) || !output_->begin(EPOLLIN) || !error_output_->begin(EPOLLIN) ||
        !pidfd_->begin(EPOLLIN))
        co_return fail(ErrorCode::kUnavailable, "a child's pipes cannot be watched");
    co_return Result<void>();
}

Task<void> ChildTransport::run(UpstreamExchange& exchange, Deadline deadline) {
    const auto place = running_.insert(running_.end(), {&exchange, last_line_ + 1});
    const ScopeExit leave([&] {
        exchange.written = exchange.written || was_written(*place);
        if (!exchange.written) take_back(place->line);  // or it would run though nobody waits
        running_.erase(place);
    });
    if (!queue_line(exchange.message)) exchange.fail(why_not_queued());
    if (!exchange.over()) co_await exchange.waiter.wait(deadline);
}

void ChildTransport::send(std::string message) { static_cast<void>(queue_line(message)); }

bool ChildTransport::queue_line(std::string_view message) {
    if (ended_ || closing_ || queued_ + message.size() > options_.max_queued) return false;
    Line& line = queue_.emplace_back(Line{.number = ++last_line_, .text = {}});
    append_line(line.text, message);
    queued_ += line.text.size();
    input_->at_iteration_end();  // what the iteration has for the child is one write
    return true;
}

/// A full queue is one of calls: it says nothing about the server, whose breaker others share.
Error ChildTransport::why_not_queued() const {
    if (ended_) return connection_lost("the MCP server has ended");
    if (closing_) return connection_lost("the connection to the MCP server was closed");
    return {.code = ErrorCode::kRateLimited,
            .message = "too much waits for the MCP server to read it; the call was not started"};
}

/// A line of which the child has nothing yet.
void ChildTransport::take_back(std::uint64_t number) {
    const auto line = std::ranges::find(queue_, number, &Line::number);
    if (line == queue_.end()) return;
    queued_ -= line->text.size();
    queue_.erase(line);
}

/// The child has `count` bytes more.
void ChildTransport::note_written(std::size_t count) {
    while (count > 0) {
        Line& line = queue_.front();
        begun_ = line.number;
        const std::size_t left = line.text.size() - sent_;
        if (count < left) {
            sent_ += count;
            return;
        }
        count -= left;
        queued_ -= line.text.size();
        sent_ = 0;
        queue_.pop_front();
    }
}

void ChildTransport::write_queued() {
    while (!queue_.empty() && input_->is_open()) {
        std::array<iovec, kLinesPerWrite> parts;
        std::size_t used = 0;
        for (Line& line : queue_) {
            const std::size_t skip = used == 0 ? sent_ : 0;
            parts[used++] = {.iov_base = line.text.data() + skip,
                             .iov_len = line.text.size() - skip};
            if (used == parts.size()) break;
        }
        // An event loop has SIGPIPE ignored.
        const ssize_t count = ::writev(input_->fd(), parts.data(), static_cast<int>(used));
        if (count > 0) {
            note_written(static_cast<std::size_t>(count));
        } else if (errno != EINTR) {
            if (errno != EAGAIN) input_->close();  // its output tells the rest
            return;
        }
    }
}

void ChildTransport::read_output() {
    std::size_t read = 0;
    while (!ended_ && output_->is_open()) {
        if (read > kReadPerTurn) return output_->again();
        const std::span<char> space = loop_.scratch();
        const ssize_t count = ::read(output_->fd(), space.data(), space.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) return;
        if (count <= 0) {
            output_->close();
            if (!closing_) end("the MCP server has closed its output");
            return;
        }
        read += static_cast<std::size_t>(count);
        // A copy: who is told of a message may read from the loop's scratch space too.
        const std::string bytes(space.data(), static_cast<std::size_t>(count));
        if (!take_lines(bytes)) return;
    }
}

bool ChildTransport::take_lines(std::string_view bytes) {
    while (!ended_) {
        const StdioLine line = lines_.next(bytes);
        switch (line.kind) {
            case StdioLine::Kind::kNeedMore: return true;
            case StdioLine::Kind::kOversize:
                end(fmt::format("the MCP server wrote a line of more than {} bytes",
                                options_.max_line));
                return false;
            case StdioLine::Kind::kLine: break;
        }
        if (reader().on_message(line.text, nullptr)) {
            noise_ = 0;
            continue;
        }
        note_noise(line.text);
        if (++noise_ >= kMostNoise)
            end(fmt::format("the MCP server wrote {} lines in a row that are no messages",
                            kMostNoise));
    }
    return false;
}

/// Once a minute, for it may alternate with messages.
void ChildTransport::note_noise(std::string_view line) {
    const SteadyTime now = loop_.clock().steady_now();
    if (now < quiet_until_) return;
    quiet_until_ = now + kNoiseLoggedEvery;
    log::warn("an MCP server writes what is no message to its standard output",
              {{"source", options_.source}, {"bytes", line.size()}});
}

void ChildTransport::read_errors() {
    for (std::size_t read = 0; error_output_->is_open();) {
        if (read > kReadPerTurn) return error_output_->again();
        const std::span<char> space = loop_.scratch();
        const ssize_t count = ::read(error_output_->fd(), space.data(), space.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) return;
        if (count <= 0) return error_output_->close();
        read += static_cast<std::size_t>(count);
        errors_.append(space.data(), static_cast<std::size_t>(count));
        if (errors_.size() > 2 * kErrorTail) errors_.erase(0, errors_.size() - kErrorTail);
    }
}

std::string ChildTransport::error_tail() const {
    return errors_.size() > kErrorTail ? errors_.substr(errors_.size() - kErrorTail) : errors_;
}

void ChildTransport::look_for_end() {
    if (!child_.is_there() || !child_.has_ended()) return;
    pidfd_->close();
    if (!ended_ && !closing_) {
        read_output();  // what it said last
        read_errors();
    }
    const ChildEnd how = child_.reap();  // and what is left of its group
    gone_.wake();
    if (!closing_) end(why_it_ended(how));
}

/// A supervisor tells as shells do how its program has ended.
std::string ChildTransport::why_it_ended(const ChildEnd& how) {
    constexpr int kBySignal = 128;
    if (const int error = supervisor_ ? supervisor_->not_started() : 0; error != 0)
        return fmt::format("the MCP server could not be started: {}", std::strerror(error));
    const bool told = supervisor_ && how.signal == 0 && how.exit_status > kBySignal;
    const int signal = told ? how.exit_status - kBySignal : how.signal;
    return signal != 0 ? fmt::format("the MCP server was ended by signal {}", signal)
                       : fmt::format("the MCP server exited with status {}", how.exit_status);
}

void ChildTransport::signal_child(int signal) {
    if (!supervisor_)
        child_.kill_group(signal);
    else if (signal == SIGTERM)
        supervisor_->terminate();
    else
        supervisor_->kill();
    // who was stopped takes no order
    if (supervisor_ && signal == SIGKILL) child_.kill(SIGCONT);
}

/// It was told to end, and nobody waits for that here. Nobody watches it either, by now.
void ChildTransport::leave_child(Milliseconds grace) {
    EndingChild::leave(loop_, std::move(child_), std::move(supervisor_), grace);
}

void ChildTransport::end(std::string why) {
    if (ended_) return;
    ended_ = true;
    const Error error = connection_lost(std::move(why));
    if (!closing_) reader().on_end(error);  // first: whose request fails asks whether it has ended
    fail_running(error);
}

void ChildTransport::fail_running(const Error& why) {
    std::vector<UpstreamExchange*> all;
    for (const Running& each : running_) {
        each.exchange->written = each.exchange->written || was_written(each);
        all.push_back(each.exchange);
    }
    for (UpstreamExchange* const exchange : all) {
        // Each runs on at once, and may have ended another.
        const auto is_it = [&](const Running& each) { return each.exchange == exchange; };
        if (std::ranges::any_of(running_, is_it)) exchange->fail(why);
    }
}

Task<void> ChildTransport::close() {
    closing_ = true;
    fail_running(connection_lost("the connection to the MCP server was closed"));
    if (child_.is_there()) {
        write_queued();
        input_->close();
        co_await wait_for_end(options_.grace);
    }
    if (child_.is_there()) {
        signal_child(SIGTERM);
        co_await wait_for_end(options_.grace);
    }
    if (child_.is_there()) {
        signal_child(SIGKILL);
        co_await wait_for_end(options_.grace);
    }
    ended_ = true;
    close_watches();
    if (child_.is_there()) leave_child(Milliseconds(0));
}

Task<void> ChildTransport::wait_for_end(Milliseconds time) {
    look_for_end();
    if (child_.is_there()) co_await gone_.wait(loop_.clock().steady_now() + time);
}

}  // namespace crab::mcp
