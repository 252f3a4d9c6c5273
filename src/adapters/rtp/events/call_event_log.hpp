#pragma once

#include "core/events/event_outbox.hpp"
#include "core/events/event_subscriptions.hpp"
#include "core/ledger/ledger_store.hpp"
#include "core/pipeline/call_events.hpp"

#include <string>
#include <vector>

namespace crab::rtp {

/// Writes `tool.call.requested`, `.completed` and `.failed` to the outbox: for the calls that the
/// configuration selects, and for others while a stream or a stored subscription wants such events.
/// Thread-safe. Source: docs/protocols/rtp.md, section 9.
class CallEventLog final : public core::CallEvents {
public:
    /// The calls that have events even without subscribers.
    enum class Always : std::uint8_t { kNone, kWithSideEffects, kAll };

    CallEventLog(core::EventOutbox& outbox, const core::EventSubscriptions& subscriptions,
                 const Clock& clock, std::string gateway_id, Always always)
        : outbox_(outbox),
          subscriptions_(subscriptions),
          clock_(clock),
          gateway_id_(std::move(gateway_id)),
          always_(always) {}

    bool wants(const core::Tool& tool) const override {
        return always_ == Always::kAll ||
               (always_ == Always::kWithSideEffects &&
                tool.spec.effects() == core::Effects::kDeclared) ||
               subscriptions_.wants_calls();
    }
    std::unique_ptr<core::NewEvent> request(const core::AdmittedCall& call,
                                            UuidText request_id) override;
    bool requested(core::NewEvent request) override { return outbox_.post(std::move(request)); }
    void ended(const core::AdmittedCall& call, UuidText request_id, UuidText event_id,
               const core::Outcome& outcome, std::chrono::nanoseconds duration) override;

    /// Writes the events that an earlier run of the gateway did not: requests of calls that are in
    /// the ledger and not in the outbox, and ends of calls that it left open: the ledger's outcome,
    /// or else `failed` with OUTCOME_UNKNOWN. Returns how many it ended. Blocking; before the
    /// outbox is opened. Errors: those of the store.
    static Result<std::size_t> end_open_calls(core::EventStore& store,
                                              const std::vector<core::UnfinishedCall>& of_ledger,
                                              const Clock& clock, std::string_view gateway_id);

private:
    core::NewEvent begin(const core::AdmittedCall& call, core::EventType type,
                         UuidText event_id) const;

    core::EventOutbox& outbox_;
    const core::EventSubscriptions& subscriptions_;
    const Clock& clock_;
    const std::string gateway_id_;
    const Always always_;
};

}  // namespace crab::rtp
