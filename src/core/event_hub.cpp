#include "core/event_hub.hpp"

#include "base/log.hpp"

namespace crab::core {

std::uint64_t EventHub::subscribe(Listener listener) {
    const std::scoped_lock lock(mutex_);
    listeners_.emplace(next_, std::move(listener));
    listeners_count_ = listeners_.size();
    return next_++;
}

void EventHub::unsubscribe(std::uint64_t number) {
    const std::scoped_lock lock(mutex_);
    listeners_.erase(number);
    listeners_count_ = listeners_.size();
}

void EventHub::publish(const Event& event) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [number, listener] : listeners_) {
        try {
            listener(event);
        } catch (...) {  // one that fails keeps nothing from the others, nor from the call that the event is about
            log::error("a listener failed", {{"event", event.type}, {"listener", number}});
        }
    }
}

}  // namespace crab::core
