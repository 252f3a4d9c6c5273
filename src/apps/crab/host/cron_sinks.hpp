#pragma once

#include "base/clock.hpp"
#include "core/event_hub.hpp"
#include "hosts/cron/cron_event_sink.hpp"

namespace crab::app {

/// Hands events to the listeners of this process: `type` is the envelope's `event_type`, the payload the whole envelope. An
/// event counts as accepted once it is published, whether anybody listens or not.
class HubEventSink final : public cron::CronEventSink {
public:
    HubEventSink(core::EventHub& events, const Clock& clock) : events_(events), clock_(clock) {}
    /// Errors: kInvalidArgs for an envelope without an event type.
    Task<Result<void>> publish(std::string envelope) override;

private:
    core::EventHub& events_;
    const Clock& clock_;
};

/// Takes nothing: events wait in the store of their jobs.
class NoEventSink final : public cron::CronEventSink {
public:
    /// Always kUnavailable, to be asked again in a minute.
    Task<Result<void>> publish(std::string envelope) override;
};

}  // namespace crab::app
