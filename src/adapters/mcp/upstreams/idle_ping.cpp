#include "adapters/mcp/upstreams/idle_ping.hpp"

#include "adapters/mcp/client/coroutine_ends.hpp"
#include "base/task/waiter.hpp"

#include <algorithm>
#include <utility>

namespace crab::mcp {
namespace {

constexpr std::chrono::seconds kQuiet{60};
constexpr std::chrono::seconds kAnswersWithin{30};

}  // namespace

void IdlePing::start(const std::shared_ptr<UpstreamSession>& session, bool is_child,
                     std::function<void()> on_silence) {
    const FoundEra found = session->found();
    if (found.form != FoundEra::Form::kSse && !(is_child && session->era() == Era::kLegacy)) return;
    tasks_.spawn("pings of an MCP server", watch(session, std::move(on_silence)));
}

/// Owns the session only while it asks: one that is dropped meanwhile is gone at once.
Task<void> IdlePing::watch(std::weak_ptr<UpstreamSession> weak, std::function<void()> on_silence) {
    Waiter pause(timers_);
    SteadyTime asked = clock_.steady_now();
    for (SteadyTime due = asked + kQuiet;;) {
        if (co_await pause.wait(due) == WaitEnd::kCancelled) co_return;
        const auto session = weak.lock();
        if (!session || !session->is_open()) co_return;
        const SteadyTime now = clock_.steady_now();
        due = std::max(session->quiet_since().value_or(now), asked) + kQuiet;
        if (due > now) continue;
        UpstreamRequest ping;
        ping.method = "ping";
        ping.deadline = now + kAnswersWithin;
        const auto reply = co_await session->request(std::move(ping));
        if ((co_await this_chain()).cancelled()) co_return;
        asked = clock_.steady_now();
        due = asked + kQuiet;
        // What runs may keep the server from everything else; its own deadline is the judge then.
        const bool is_silent = !reply && reply.error().code == ErrorCode::kTimeout;
        if (is_silent && session->quiet_since()) co_return on_silence();
    }
}

Task<void> IdlePing::stop() { co_await join(tasks_); }

}  // namespace crab::mcp
