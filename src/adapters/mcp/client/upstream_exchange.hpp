#pragma once

#include "adapters/mcp/client/pausable_deadline.hpp"
#include "adapters/mcp/client/upstream_session.hpp"
#include "adapters/mcp/wire/request_id.hpp"
#include "base/clock.hpp"
#include "base/task/task_group.hpp"
#include "base/task/waiter.hpp"

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace crab::mcp {

/// How many times in a second something is let through.
struct RateWindow {
    int most;
    SteadyTime begun{};
    int passed = 0;
    bool admits(SteadyTime now) {
        if (now - begun >= std::chrono::seconds(1)) {
            begun = now;
            passed = 0;
        }
        return passed++ < most;
    }
};

/// One JSON-RPC request on its way to an upstream, as conversation and transport see it. It lives
/// in the frame of the coroutine that waits for it.
struct UpstreamExchange {
    UpstreamExchange(TimerWheel& timers, const Executor& executor, std::int64_t number)
        : id(number), waiter(timers), questions(executor) {}

    RequestId id;
    std::string method;
    std::string message;  ///< all of it, as JSON
    HeaderLines headers;  ///< those that repeat the body, for HTTP
    core::FrameSink* sink = nullptr;
    core::Inquirer* inquirer = nullptr;
    double progress = -std::numeric_limits<double>::infinity();  ///< of the last message of it
    std::size_t asked = 0;  ///< questions of the upstream so far
    RateWindow progress_rate{.most = 20}, log_rate{.most = 100};

    std::optional<UpstreamReply> reply;
    std::optional<Error> failure;   ///< of the transport, in place of a reply
    bool written = false;           ///< some of it has been handed to the kernel
    bool refused_unrun = false;     ///< the upstream's HTTP side said that it was not run
    int http_status = 0;            ///< of the answer; 0: none yet, or no HTTP
    /// Of a request during which the upstream may ask; else the deadline is the transport's
    std::optional<PausableDeadline> limit;
    Waiter waiter;                  ///< woken once it is over
    TaskGroup questions;            ///< of the upstream to its inquirer

    bool over() const { return reply.has_value() || failure.has_value(); }
    void end(UpstreamReply with) {
        if (over()) return;
        reply = std::move(with);
        waiter.wake();
    }
    void fail(Error with) {
        if (over()) return;
        failure = std::move(with);
        waiter.wake();
    }
};

}  // namespace crab::mcp
