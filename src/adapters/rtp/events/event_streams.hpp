#pragma once

#include "core/events/event_outbox.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace crab::rtp {

/// State of a live stream that other threads access. Its notifier is woken for new events, for
/// acknowledgements and for its end.
struct LiveStream {
    LiveStream(std::string of_peer, std::string of_subscription, const Executor& home,
               TimerWheel& timers)
        : peer(std::move(of_peer)),
          subscription(std::move(of_subscription)),
          notifier(std::make_shared<core::EventNotifier>(home, timers)) {}

    const std::string peer, subscription;
    const std::shared_ptr<core::EventNotifier> notifier;
    std::atomic<core::EventPosition> sent{0};           ///< the last that left
    std::atomic<core::EventPosition> acknowledged{0};
    std::atomic<bool> displaced{false};                 ///< a newer stream has its subscription
};

/// The open streams of stored subscriptions: the newest for each. Thread-safe; shared by the
/// listeners.
class EventStreams {
public:
    /// `stream` replaces an older one of its subscription, which ends.
    void enter(const std::shared_ptr<LiveStream>& stream);
    void leave(const std::shared_ptr<LiveStream>& stream);
    /// Notifies the open stream of this subscription, if any.
    void acknowledge(std::string_view peer, std::string_view subscription,
                     core::EventPosition position);
    std::size_t size() const;

private:
    using Key = std::pair<std::string, std::string>;
    mutable std::mutex mutex_;
    std::map<Key, std::shared_ptr<LiveStream>> streams_;
};

}  // namespace crab::rtp
