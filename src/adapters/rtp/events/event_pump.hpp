#pragma once

#include "adapters/rtp/events/event_streams.hpp"
#include "adapters/rtp/events/event_wire.hpp"
#include "core/call/principal.hpp"
#include "core/events/event_subscriptions.hpp"
#include "trust/access.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <string_view>

namespace crab::rtp {

/// Services shared by all event streams. Each member is thread-safe.
struct EventServices {
    const Clock& clock;
    core::EventOutbox& outbox;
    core::EventSubscriptions& subscriptions;
    trust::Access& access;
    EventStreams& streams;
    /// In a fleet: takes what other nodes have appended and acknowledged. Empty without one.
    std::function<Task<void>()> look_for_others{};
};

/// The receiving end of one stream; used on its loop.
class EventReceiver {
public:
    virtual ~EventReceiver() = default;
    /// Whether the receiver has disconnected.
    virtual bool gone() const = 0;
    virtual void send(const core::StoredEvent& event) = 0;
    /// Called when nothing was sent for a while.
    virtual void keep_alive() = 0;
    /// Returns when most of the output has been written.
    virtual Task<void> drained() = 0;
    virtual void close(std::uint16_t code, std::string_view reason) = 0;
};

/// Sends a stream the events that it asked for and may see, in outbox order, until it ends or is
/// cancelled: at most kMostUnacknowledged ahead of its acknowledgements. Source:
/// docs/protocols/rtp.md, section 9, "Receiving".
class EventPump {
public:
    static constexpr std::size_t kMostUnacknowledged = 256;
    /// How long a full window may stay without an acknowledgement
    static constexpr std::chrono::seconds kPatience{60};
    static constexpr std::chrono::seconds kKeepAlive{15};
    /// How soon a stream ends after the lease that it named, or its certificate
    static constexpr std::chrono::seconds kLeaseCheck{1};

    /// `after`: where the stream starts. Begins the stream: an older one of its subscription ends.
    EventPump(EventServices services, core::PrincipalRef principal, EventRequest request,
              std::shared_ptr<LiveStream> live, core::EventPosition after);
    EventPump(const EventPump&) = delete;
    EventPump& operator=(const EventPump&) = delete;
    /// Ends it.
    ~EventPump();

    Task<void> run(EventReceiver& receiver);

    /// Whether `principal` may see events of this type in this scope, under the lease.
    static bool may_see(const trust::Access& access, const core::Principal& principal,
                        core::EventType type, const trust::ActionScope& scope,
                        std::string_view lease);

private:
    enum class Step : std::uint8_t { kGoOn, kEnd };
    Task<Step> wait_for_acknowledgement(EventReceiver& receiver);
    Task<Step> send_some(EventReceiver& receiver);
    void take_acknowledgements();
    bool wants(const core::Event& event) const;
    bool lease_has_ended() const {
        return !request_.lease.empty() &&
               !services_.access.is_lease_active(*principal_, request_.lease);
    }
    bool certificate_has_ended() const {
        return request_.good_until && services_.clock.system_now() > *request_.good_until;
    }
    Deadline wait_until(SteadyTime end) const;

    EventServices services_;
    core::PrincipalRef principal_;
    EventRequest request_;
    std::shared_ptr<LiveStream> live_;
    core::EventPosition position_;  ///< the last that was looked at
    std::deque<core::EventPosition> unacknowledged_;
    SteadyTime paused_since_{};  ///< or the time of the last acknowledgement
    /// When an event or a keep-alive was last sent
    SteadyTime quiet_since_{};
};

}  // namespace crab::rtp
