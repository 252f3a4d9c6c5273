#pragma once

#include "core/call_events.hpp"
#include "core/event_outbox.hpp"
#include "core/event_subscriptions.hpp"

#include <string>

namespace crab::rtp {

/// Writes `tool.call.requested`, `.completed` and `.failed` into the outbox: of the calls that the operator chose, and of others
/// while a stream or a remembered subscription wants such events. Thread-safe. Source: docs/protocols/rtp.md, section 9.
class CallEventLog final : public core::CallEvents {
public:
    /// Of which calls it tells although nobody waits for that.
    enum class Always : std::uint8_t { kNone, kWithSideEffects, kAll };

    CallEventLog(core::EventOutbox& outbox, const core::EventSubscriptions& subscriptions, const Clock& clock, std::string gateway_id, Always always)
        : outbox_(outbox), subscriptions_(subscriptions), clock_(clock), gateway_id_(std::move(gateway_id)), always_(always) {}

    bool wants(const core::Tool& tool) const override {
        return always_ == Always::kAll || (always_ == Always::kWithSideEffects && tool.spec.side_effects) || subscriptions_.wants_calls();
    }
    Task<bool> requested(const core::AdmittedCall& call, UuidText request_id) override;
    void ended(const core::AdmittedCall& call, UuidText request_id, UuidText event_id, const core::Outcome& outcome,
               std::chrono::nanoseconds duration) override;

    /// Ends the calls that an earlier life of the gateway left open: `failed`, with OUTCOME_UNKNOWN. Returns how many there were.
    /// Blocking; before the outbox is opened. Errors: those of the store.
    static Result<std::size_t> end_open_calls(core::EventStore& store, const Clock& clock, std::string_view gateway_id);

private:
    core::NewEvent begin(const core::AdmittedCall& call, core::EventType type, UuidText event_id) const;

    core::EventOutbox& outbox_;
    const core::EventSubscriptions& subscriptions_;
    const Clock& clock_;
    const std::string gateway_id_;
    const Always always_;
};

}  // namespace crab::rtp
