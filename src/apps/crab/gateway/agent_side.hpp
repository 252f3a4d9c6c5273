#pragma once

#include "agent/event_turns.hpp"
#include "config/gateway_config.hpp"
#include "core/event_turn_store.hpp"
#include "json/writer.hpp"
#include "net/event_loop.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace crab::app {

/// The agents that events start, wired: which of their turns have run (`agents.db`), and the events that tell of them. Turns run on
/// one loop.
class AgentSide {
public:
    struct Services {
        net::EventLoop& loop;
        core::TurnRunner& runner;      ///< of that loop
        core::EventOutbox& outbox;
        core::ChatSessionStore& chats;
        BlockingPool& chat_pool;       ///< the one that stores what is said
        std::string gateway_id;
    };
    /// Ends, with an event, what an earlier life left open. Errors: those of the store; kInvalidArgs naming the key of the
    /// configuration for types of events that are none or start no turns.
    static Result<std::unique_ptr<AgentSide>> open(const std::filesystem::path& file, const config::GatewayConfig& config, Services services);
    AgentSide(const AgentSide&) = delete;
    AgentSide& operator=(const AgentSide&) = delete;

    /// On the loop.
    void start();
    /// On the loop: cancels the turns; `done` when the last has ended.
    void stop(std::function<void()> done);
    /// Drops the records of old turns; called every day on the pool.
    void forget_old();
    void append_metrics(std::string& out) const;
    core::EventTurnStore& turns() { return *store_; }

private:
    AgentSide(std::unique_ptr<core::EventTurnStore> store, Services services) : store_(std::move(store)), services_(std::move(services)) {}
    void tell(const agent::EventTurnNews& news);
    void publish(core::EventType type, const agent::EventTurnNews& news, const std::function<void(json::Writer& payload)>& more);

    std::unique_ptr<core::EventTurnStore> store_;
    Services services_;
    std::vector<std::unique_ptr<agent::EventTurns>> agents_;
};

}  // namespace crab::app
