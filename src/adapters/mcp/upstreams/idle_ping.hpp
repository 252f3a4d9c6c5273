#pragma once

#include "adapters/mcp/client/upstream_session.hpp"
#include "base/clock.hpp"
#include "base/task/task_group.hpp"
#include "base/task/timer_wheel.hpp"

#include <functional>
#include <memory>

namespace crab::mcp {

/// Asks a server that has been quiet for a minute whether it is still there, so that one that hangs
/// is found before a call needs it. Only for sessions over one channel, of servers that know
/// `ping`: legacy children and HTTP+SSE. Used on one event loop; stop() before destruction.
/// Source: docs/protocols/mcp.md, section 5 row 10.
class IdlePing {
public:
    IdlePing(const Executor& executor, TimerWheel& timers, const Clock& clock)
        : timers_(timers), clock_(clock), tasks_(executor) {}

    /// `on_silence` is called once, when a ping was not answered in time and nothing else runs.
    /// Does nothing for other kinds of sessions. Not before stop() has ended for the one before.
    void start(const std::shared_ptr<UpstreamSession>& session, bool is_child,
               std::function<void()> on_silence);
    Task<void> stop();

private:
    Task<void> watch(std::weak_ptr<UpstreamSession> weak, std::function<void()> on_silence);

    TimerWheel& timers_;
    const Clock& clock_;
    TaskGroup tasks_;
};

}  // namespace crab::mcp
