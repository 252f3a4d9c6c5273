#pragma once

#include "base/clock.hpp"
#include "core/events/event_outbox.hpp"
#include "hosts/cron/cron_event_sink.hpp"

namespace crab::hosting {

/// What a job of the gateway's own cron host fires, as the outbox takes it. Errors: kInvalidArgs
/// for what is not an envelope.
Result<core::NewEvent> cron_event_of(std::string envelope);

/// Publishes events to the gateway's outbox: accepted once they are durable there.
class OutboxEventSink final : public cron::CronEventSink {
public:
    OutboxEventSink(core::EventOutbox& outbox, const Clock& clock)
        : outbox_(outbox), clock_(clock) {}
    /// Errors: kInvalidArgs for what is not an envelope; kConflict; those of the outbox.
    Task<Result<void>> publish(std::string envelope) override;

private:
    core::EventOutbox& outbox_;
    const Clock& clock_;
};

/// Accepts nothing: events stay in the cron store.
class NoEventSink final : public cron::CronEventSink {
public:
    /// Always kUnavailable, with a retry after a minute.
    Task<Result<void>> publish(std::string envelope) override;
};

}  // namespace crab::hosting
