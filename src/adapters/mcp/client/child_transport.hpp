#pragma once

#include "adapters/mcp/client/fd_watch.hpp"
#include "adapters/mcp/client/upstream_connector.hpp"
#include "adapters/mcp/client/upstream_transport.hpp"
#include "adapters/mcp/wire/line_reader.hpp"
#include "base/process/child_supervisor.hpp"
#include "base/task/wakeup.hpp"
#include "net/loop/event_loop.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <string_view>

namespace crab::mcp {

/// How long a child that is stopped is waited for, after its input closed and after SIGTERM.
inline constexpr Milliseconds kChildGrace{2'000};
inline constexpr int kMostNoise = 100;  ///< lines in a row that are no messages
inline constexpr std::size_t kErrorTail = std::size_t{64} << 10;

/// Messages as lines over the standard input and output of a child: docs/protocols/mcp.md, section
/// 2.6. The child has its own process group and dies with this process; with a supervisor all that
/// it has started does, too.
class ChildTransport final : public UpstreamTransport {
public:
    struct Options {
        std::string source;  ///< for the log
        UpstreamChild child;
        std::size_t max_line = kMaxReply;
        std::size_t max_queued = std::size_t{16} << 20;  ///< of what the child does not read
        Milliseconds grace = kChildGrace;
    };

    ChildTransport(net::EventLoop& loop, Options options);
    /// Has what close() has not ended killed; waits for nothing.
    ~ChildTransport() override;

    Task<Result<void>> start(Deadline deadline) override;
    Task<void> run(UpstreamExchange& exchange, Deadline deadline) override;
    void send(std::string message) override;
    std::string error_tail() const override;
    Task<void> close() override;

private:
    /// A request under way, and the number of its line.
    struct Running {
        UpstreamExchange* exchange;
        std::uint64_t line;
    };
    struct Line {
        std::uint64_t number;
        std::string text;
    };
    bool queue_line(std::string_view message);
    Error why_not_queued() const;
    bool was_written(const Running& one) const { return begun_ >= one.line; }
    void take_back(std::uint64_t number);
    void note_noise(std::string_view line);
    void note_written(std::size_t count);
    void write_queued();
    void read_output();
    bool take_lines(std::string_view bytes);
    void read_errors();
    void look_for_end();
    void end(std::string why);
    void fail_running(const Error& why);
    Task<void> wait_for_end(Milliseconds time);
    Result<void> start_child(ChildProgram program);
    void signal_child(int signal);
    void leave_child(Milliseconds grace);
    void close_watches();
    std::string why_it_ended(const ChildEnd& how);

    net::EventLoop& loop_;
    const Options options_;
    std::shared_ptr<ChildSupervisor> supervisor_;  ///< null: none
    Child child_;
    std::shared_ptr<FdWatch> input_, output_, error_output_, pidfd_;
    LineReader lines_;
    std::deque<Line> queue_;
    std::size_t queued_ = 0;     ///< bytes in it
    std::size_t sent_ = 0;       ///< of its first line
    std::uint64_t last_line_ = 0;  ///< number of the line that was queued last
    std::uint64_t begun_ = 0;  ///< number of the last line of which the child has something
    std::list<Running> running_;
    std::string errors_;  ///< the end of standard error
    int noise_ = 0;
    SteadyTime quiet_until_{};  ///< no line of noise is logged before
    bool ended_ = false;   ///< nothing more is read or sent
    bool closing_ = false;
    Waiter gone_;  ///< woken when the child has ended
};

}  // namespace crab::mcp
