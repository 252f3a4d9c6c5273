#pragma once

#include "agent/event_turns.hpp"
#include "gateway/agents/turns.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/context/session_workers.hpp"
#include "gateway/stored/chat_sessions.hpp"
#include "gateway/stored/event_log.hpp"
#include "runtime/event_loops.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::gateway {

/// Agents with event triggers. Their turns run on the first event loop.
class EventAgents final : public Component {
public:
    EventAgents(const GatewayContext& context, EventLoops& loops, Turns& turns, ChatSessions& chats,
                SessionWorkers& workers, EventLog& events)
        : context_(context),
          loops_(loops),
          turns_(turns),
          chats_(chats),
          workers_(workers),
          events_(events) {}

    /// The configured agents with triggers. Errors: kInvalidArgs naming the configuration key of an
    /// event type that is unknown or cannot start turns.
    static Result<std::vector<agent::EventAgent>> read_agents(const config::GatewayConfig& config);

    std::string_view name() const override { return "agents of events"; }
    /// Errors: those of read_agents().
    Result<void> start() override;
    void begin() override;
    Result<Change> prepare(const config::GatewayConfig& next) override;
    void add_metrics(core::MetricsPage& page) override;
    /// Cancels the turns.
    void stop(Deadline deadline) override;

private:
    /// On the loop: starts new agents and stops removed ones; running turns continue unchanged.
    void set_agents(std::vector<agent::EventAgent> agents);
    void stop_all(std::function<void()> done);
    void append_metrics(std::string& out) const;

    const GatewayContext& context_;
    EventLoops& loops_;
    Turns& turns_;
    ChatSessions& chats_;
    SessionWorkers& workers_;
    EventLog& events_;
    std::vector<agent::EventAgent> first_;  ///< at start
    agent::EventTurnCounts counts_;
    std::map<std::string, std::unique_ptr<agent::EventTurns>, std::less<>> agents_;
    bool stopped_ = false;
};

}  // namespace crab::gateway
