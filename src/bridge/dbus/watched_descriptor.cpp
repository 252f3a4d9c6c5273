#include "bridge/dbus/watched_descriptor.hpp"

#include <utility>

namespace crab::bridge {

/// What the loop knows of it; outlives it to the end of the turn.
class WatchedDescriptor::Watch final : public net::Pollable {
public:
    explicit Watch(Waiter& ready) : ready_(&ready) {}
    void forget() { ready_ = nullptr; }
    void on_ready(std::uint32_t) override {
        if (ready_ != nullptr) ready_->wake();
    }

private:
    Waiter* ready_;
};

WatchedDescriptor::WatchedDescriptor(net::EventLoop& loop, Descriptor descriptor,
                                     std::uint32_t events)
    : loop_(loop), descriptor_(std::move(descriptor)), events_(events), ready_(loop.timers()) {
    if (!descriptor_.is_open()) return;
    auto watch = std::make_shared<Watch>(ready_);
    if (loop_.watch(descriptor_.get(), events, *watch)) watch_ = std::move(watch);
}

void WatchedDescriptor::set_events(std::uint32_t events) {
    if (watch_ != nullptr && std::exchange(events_, events) != events)
        loop_.rewatch(descriptor_.get(), events, *watch_);
}

WatchedDescriptor::~WatchedDescriptor() {
    if (watch_ == nullptr) return;
    watch_->forget();
    loop_.unwatch(descriptor_.get(), *watch_);
    loop_.destroy_later(std::move(watch_));
}

}  // namespace crab::bridge
