#pragma once

#include "base/id_source.hpp"
#include "base/ordered_mutex.hpp"
#include "core/chat/turn_log.hpp"
#include "core/events/event_outbox.hpp"

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace crab::rtp {

struct TurnEventOptions {
    std::string gateway_id;
    /// Whether `agent.response.created` includes answers given in chats
    bool chat_answers = true;
};

/// Writes `agent.turn.started`, and `agent.response.created` with `agent.turn.completed` or else
/// `agent.turn.failed`, to the outbox, which tracks turns without an end. Thread-safe. Source:
/// docs/protocols/rtp.md, section 9.
class TurnEventLog final : public core::TurnLog {
public:
    TurnEventLog(core::EventOutbox& outbox, const Clock& clock, TurnEventOptions options)
        : outbox_(outbox), options_(std::move(options)), ids_(clock) {}

    void begun(const core::TurnSummary& story) override;
    void ended(const core::TurnSummary& story, const core::TurnEnd& end) override;

    /// Finds how a turn of an earlier run ended.
    using EndOf = std::function<Result<core::TurnEnd>(const core::TurnSummary& story)>;
    /// Writes the events that an earlier run of the gateway did not: starts of the turns `recorded`
    /// as open that the outbox lacks, and the ends of all that it left open. Returns how many it
    /// ended. Blocking; before the outbox is opened. Errors: those of the store and of `end_of`.
    static Result<std::size_t> end_open_turns(core::EventStore& store,
                                              const std::vector<core::TurnSummary>& recorded,
                                              const EndOf& end_of, const Clock& clock,
                                              const TurnEventOptions& options);

private:
    core::EventOutbox& outbox_;
    const TurnEventOptions options_;
    OrderedMutex<LockRank::kTurnEventLog> mutex_;  ///< guards ids_
    IdSource ids_;
};

}  // namespace crab::rtp
