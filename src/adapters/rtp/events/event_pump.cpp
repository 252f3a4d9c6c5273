#include "adapters/rtp/events/event_pump.hpp"

#include "base/log.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace crab::rtp {
namespace {

constexpr std::uint16_t kPolicyViolation = 1008, kInternalError = 1011, kDisplaced = 4409;

/// `events.subscribe:<type>`, made once.
std::string_view action_of(core::EventType type) {
    static const auto kActions = [] {
        std::array<std::string, core::kEventTypes> actions;
        for (const core::EventType each : core::all_event_types())
            actions[static_cast<std::size_t>(each)] =
                "events.subscribe:" + std::string(core::name_of(each));
        return actions;
    }();
    return kActions[static_cast<std::size_t>(type)];
}

}  // namespace

EventPump::EventPump(EventServices services, core::PrincipalRef principal, EventRequest request,
                     std::shared_ptr<LiveStream> live, core::EventPosition after)
    : services_(services),
      principal_(std::move(principal)),
      request_(std::move(request)),
      live_(std::move(live)),
      position_(after) {
    quiet_since_ = services_.clock.steady_now();
    live_->acknowledged = after;
    live_->sent = after;
    services_.outbox.add(live_->notifier);
    if (request_.remember)
        services_.streams.enter(live_);
    else if (request_.filter.types.has_calls())
        services_.subscriptions.want_calls(true);
    if (!request_.lease.empty()) services_.access.stream_began(request_.lease);
}

EventPump::~EventPump() {
    if (request_.remember) {
        services_.streams.leave(live_);
        // All that it was sent has arrived, so the next stream need not look through what this one
        // did not want.
        if (unacknowledged_.empty() && !live_->displaced)
            services_.subscriptions.acknowledge(live_->peer, live_->subscription, position_);
    } else if (request_.filter.types.has_calls()) {
        services_.subscriptions.want_calls(false);
    }
    if (!request_.lease.empty()) services_.access.stream_ended(request_.lease);
}

bool EventPump::may_see(const trust::Access& access, const core::Principal& principal,
                        core::EventType type, const trust::ActionScope& scope,
                        std::string_view lease) {
    return access.decide(principal, action_of(type), scope, lease).allowed();
}

bool EventPump::wants(const core::Event& event) const {
    if (!request_.filter.matches(event)) return false;
    // A tool host sees only the calls that were sent to it.
    const bool is_host = principal_->roles.has(core::Role::kToolHost) &&
                         !principal_->roles.has(core::Role::kCliAdmin);
    if (is_host && event.type == core::EventType::kToolCallRequested &&
        event.addressee != principal_->id)
        return false;
    const trust::ActionScope scope{
        .tenant = event.tenant, .agent_id = event.agent_id, .session_id = event.session_id};
    return may_see(services_.access, *principal_, event.type, scope, request_.lease);
}

Task<void> EventPump::run(EventReceiver& receiver) {
    const TaskChain& chain = co_await this_chain();
    while (!chain.cancelled() && !receiver.gone()) {
        if (live_->displaced) {
            receiver.close(kDisplaced, "a newer stream has this subscription");
            co_return;
        }
        if (lease_has_ended()) {
            receiver.close(
                kPolicyViolation,
                "the lease of this stream has ended; make another one and open a new stream");
            co_return;
        }
        if (certificate_has_ended()) {
            receiver.close(kPolicyViolation,
                           "the certificate that opened this stream has expired; renew the "
                           "pairing and open a new stream");
            co_return;
        }
        take_acknowledgements();
        Task<Step> next = unacknowledged_.size() >= kMostUnacknowledged
                              ? wait_for_acknowledgement(receiver)
                              : send_some(receiver);
        if (co_await std::move(next) == Step::kEnd) co_return;
    }
    take_acknowledgements();
}

void EventPump::take_acknowledgements() {
    const core::EventPosition acknowledged = live_->acknowledged;
    if (unacknowledged_.empty() || acknowledged < unacknowledged_.front()) return;
    while (!unacknowledged_.empty() && unacknowledged_.front() <= acknowledged)
        unacknowledged_.pop_front();
    paused_since_ = services_.clock.steady_now();
}

/// Until `end`, or until the lease and the certificate are to be looked at again: the system clock
/// may be set.
Deadline EventPump::wait_until(SteadyTime end) const {
    if (request_.lease.empty() && !request_.good_until) return end;
    return std::min(end, services_.clock.steady_now() + kLeaseCheck);
}

Task<EventPump::Step> EventPump::wait_for_acknowledgement(EventReceiver& receiver) {
    if (co_await live_->notifier->wait(wait_until(paused_since_ + kPatience)) != WaitEnd::kExpired)
        co_return Step::kGoOn;
    take_acknowledgements();
    if (unacknowledged_.size() < kMostUnacknowledged ||
        services_.clock.steady_now() < paused_since_ + kPatience)
        co_return Step::kGoOn;
    receiver.close(kPolicyViolation, "too many events are not acknowledged");
    co_return Step::kEnd;
}

Task<EventPump::Step> EventPump::send_some(EventReceiver& receiver) {
    const auto events =
        co_await services_.outbox.read(position_, kMostUnacknowledged - unacknowledged_.size());
    if (!events) {
        const bool too_old = events.error().code == ErrorCode::kNotFound;
        if (!too_old)
            log::warn("an event stream ends",
                      {{"peer_id", principal_->id}, {"reason", events.error().message}});
        receiver.close(
            too_old ? kPolicyViolation : kInternalError,
            too_old ? "the next events were already removed" : "the outbox cannot be read");
        co_return Step::kEnd;
    }
    if (events->empty()) {
        const WaitEnd end = co_await services_.outbox.sleep(*live_->notifier, position_,
                                                            wait_until(quiet_since_ + kKeepAlive));
        if (end != WaitEnd::kExpired || services_.clock.steady_now() < quiet_since_ + kKeepAlive)
            co_return Step::kGoOn;
        receiver.keep_alive();
        quiet_since_ = services_.clock.steady_now();
        co_return Step::kGoOn;
    }
    bool sent = false;
    for (const auto& event : *events) {
        if (lease_has_ended() || certificate_has_ended()) break;
        position_ = event->position;
        if (!wants(event->event)) continue;
        receiver.send(*event);
        if (request_.remember) unacknowledged_.push_back(position_);
        live_->sent = position_;
        sent = true;
    }
    if (sent) {
        paused_since_ = quiet_since_ = services_.clock.steady_now();
        co_await receiver.drained();
    }
    co_return Step::kGoOn;
}

}  // namespace crab::rtp
