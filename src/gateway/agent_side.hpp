#pragma once

#include "agent/event_turns.hpp"
#include "config/gateway_config.hpp"
#include "core/events/event_turn_store.hpp"
#include "net/loop/event_loop.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::gateway {

/// The agents that events start, wired. Their turns run on one loop.
class AgentSide {
public:
    struct Services {
        net::EventLoop& loop;
        core::TurnRunner& runner;      ///< of that loop
        core::EventOutbox& outbox;
        core::EventTurnStore& turns;
        core::ChatSessionStore& chats;
        BlockingPool& chat_pool;       ///< the one that stores what is said
        core::TurnLog& log;
    };
    explicit AgentSide(Services services) : services_(services) {}
    AgentSide(const AgentSide&) = delete;
    AgentSide& operator=(const AgentSide&) = delete;

    /// The agents that the configuration has events start. Errors: kInvalidArgs naming the key of
    /// the configuration for types of events that are none or start no turns.
    static Result<std::vector<agent::EventAgent>> read_agents(const config::GatewayConfig& config);

    /// On the loop, at the start and after each reload: new agents begin to watch, those that are
    /// gone start nothing any more; turns that run go on as they began.
    void set_agents(std::vector<agent::EventAgent> agents);
    /// On the loop: cancels the turns; `done` when the last has ended.
    void stop(std::function<void()> done);
    /// Drops the records of old turns; called every day on the pool.
    void forget_old();
    void append_metrics(std::string& out) const;

private:
    const Services services_;
    agent::EventTurnCounts counts_;
    std::map<std::string, std::unique_ptr<agent::EventTurns>, std::less<>> agents_;
    bool stopped_ = false;
};

}  // namespace crab::gateway
