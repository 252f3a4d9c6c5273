#pragma once

#include "base/clock.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace crab::core {

/// Something that happened, for whoever listens: `tool.call.completed`, `tool.call.failed`, `device.connected`, …
struct Event {
    std::string type;
    SystemTime time;
    std::string payload;   ///< a JSON object
};

/// Hands events to the listeners of this process. Thread-safe; listeners are called on the publishing thread and must be quick.
class EventHub {
public:
    using Listener = std::function<void(const Event&)>;

    /// Returns a number for unsubscribe().
    std::uint64_t subscribe(Listener listener);
    void unsubscribe(std::uint64_t number);
    /// Whether anybody listens; ask before building an event.
    bool wanted() const { return listeners_count_.load(std::memory_order_relaxed) > 0; }
    void publish(const Event& event);

private:
    std::mutex mutex_;
    std::map<std::uint64_t, Listener> listeners_;
    std::uint64_t next_ = 1;
    std::atomic<std::size_t> listeners_count_{0};
};

}  // namespace crab::core
