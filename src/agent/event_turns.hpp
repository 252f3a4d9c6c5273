#pragma once

#include "agent/event_trigger.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/task_group.hpp"
#include "core/audit/metrics.hpp"
#include "core/chat/chat_session_store.hpp"
#include "core/chat/turn.hpp"
#include "core/chat/turn_log.hpp"
#include "core/events/event_outbox.hpp"
#include "core/events/event_turn_store.hpp"
#include "net/loop/event_loop.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::agent {

/// One agent with event triggers.
struct EventAgent {
    std::string name;
    std::string tenant;
    std::vector<EventTrigger> triggers;
    std::size_t at_once = 1;         ///< turns; more events wait in the outbox
};

/// The principal of an agent's own turns.
inline std::string principal_id_of(std::string_view agent) { return "agent/" + std::string(agent); }

/// The chat session of an agent's own turns: `agent-<name>`, or a digest instead of a name that a
/// session id cannot hold.
std::string session_id_of(std::string_view agent);

/// Counters shared by the agents of one loop.
struct EventTurnCounts {
    core::Counter begun, failed;
    core::Counter late;  ///< events that were too old to start a turn, or already dropped
};

/// Reads the outbox for one agent and runs its turns, as principal `agent/<name>` of its tenant
/// with role caller. An event starts at most one turn of an agent: it is claimed durably first, and
/// a turn that a crash interrupts is not restarted. In a fleet, one process has the agent to
/// itself; the others wait for its end. Messages are stored in a chat session of that principal.
/// Used on one loop.
class EventTurns {
public:
    struct Services {
        net::EventLoop& loop;
        core::TurnRunner& runner;  ///< of that loop
        core::EventOutbox& outbox;
        core::EventTurnStore& turns;
        core::ChatSessionStore& chats;
        BlockingPool& store_pool;  ///< one thread, so that writes keep their order
        core::TurnLog& log;
        EventTurnCounts& counts;
    };
    EventTurns(Services services, EventAgent agent);

    /// Starts reading; a new agent starts at the end of the outbox.
    void start();
    /// Cancels running turns and calls `done` when all have ended. Required before destruction.
    void stop(std::function<void()> done);
    /// After a reload: replaces the agent's configuration for future events; running turns keep
    /// theirs. On the loop.
    void set_agent(EventAgent agent);

private:
    class Record;
    Task<void> watch();
    Task<bool> take_agent();
    Task<bool> look_at(core::EventOutbox::EventRef event);
    Task<bool> pause(Milliseconds time);
    Task<void> run_turn(core::EventTurn turn, core::PrincipalRef principal, std::string title,
                        std::string question, std::string target);
    const EventTrigger* trigger_of(const EventAgent& agent, const core::StoredEvent& event);
    void store(const core::NewChatSession& session, core::ChatMessage message);

    Services services_;
    std::shared_ptr<const EventAgent> agent_;
    core::PrincipalRef principal_;
    std::shared_ptr<core::EventNotifier> notifier_;
    core::EventPosition position_ = 0;
    bool has_agent_ = false;  ///< no other process of a fleet runs its turns
    std::size_t passed_over_ = 0;  ///< events since the position was stored
    std::size_t running_ = 0;
    Waiter room_;  ///< a turn has ended
    json::Parser parser_;
    TaskGroup tasks_;
};

}  // namespace crab::agent
