#include "core/events/event_subscriptions.hpp"

#include "base/log.hpp"

#include <algorithm>

namespace crab::core {

Result<std::unique_ptr<EventSubscriptions>> EventSubscriptions::load(EventStore& store,
                                                                     BlockingPool& pool,
                                                                     const Clock& clock) {
    auto states = store.subscriptions();
    if (!states) return fail(std::move(states.error()));
    std::unique_ptr<EventSubscriptions> subscriptions(new EventSubscriptions(store, pool, clock));
    for (SubscriptionState& state : *states) {
        const auto types = EventTypes::parse(state.types);
        const bool wants_calls = types && types->has_calls();
        if (wants_calls) ++subscriptions->calls_wanted_;
        Key key{state.peer, state.name};
        subscriptions->known_.emplace(std::move(key),
                                      Known{.state = std::move(state), .wants_calls = wants_calls});
    }
    return subscriptions;
}

EventSubscriptions::~EventSubscriptions() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return !writing_; });
}

std::optional<EventPosition> EventSubscriptions::acknowledged(std::string_view peer,
                                                              std::string_view name) const {
    const std::scoped_lock lock(mutex_);
    const auto known = known_.find(Key(peer, name));
    return known == known_.end() ? std::nullopt : std::optional(known->second.state.acknowledged);
}

Result<void> EventSubscriptions::begin(std::string_view peer, std::string_view name,
                                       std::string_view types, EventPosition start) {
    const auto wanted = EventTypes::parse(types);
    if (!wanted) return fail(wanted.error());
    const std::scoped_lock lock(mutex_);
    auto known = known_.find(Key(peer, name));
    if (known == known_.end()) {
        const auto others =
            std::ranges::count_if(known_, [&](const auto& one) { return one.first.first == peer; });
        if (static_cast<std::size_t>(others) >= kMostPerPeer)
            return fail(ErrorCode::kRateLimited,
                        "this peer has too many subscriptions; those that nobody uses are "
                        "forgotten after the outbox's retention");
        known = known_
                    .emplace(Key(peer, name), Known{.state = {.peer = std::string(peer),
                                                              .name = std::string(name),
                                                              .acknowledged = start,
                                                              .types = {},
                                                              .seen = {}}})
                    .first;
    }
    set_types(known->second, *wanted, types);
    change(known->second);
    return {};
}

/// With mutex_ held.
void EventSubscriptions::set_types(Known& known, const EventTypes& wanted, std::string_view types) {
    calls_wanted_ += static_cast<int>(wanted.has_calls()) - static_cast<int>(known.wants_calls);
    known.wants_calls = wanted.has_calls();
    known.state.types = types;
}

void EventSubscriptions::acknowledge(std::string_view peer, std::string_view name,
                                     EventPosition position) {
    const std::scoped_lock lock(mutex_);
    const auto known = known_.find(Key(peer, name));
    if (known == known_.end() || position <= known->second.state.acknowledged) return;
    known->second.state.acknowledged = position;
    change(known->second);
}

/// With mutex_ held.
void EventSubscriptions::change(Known& known) {
    known.state.seen = clock_.system_now();
    known.changed = true;
    if (!std::exchange(writing_, true)) pool_.post([this] { write_changes(); });
}

void EventSubscriptions::write_changes() {
    for (;;) {
        std::vector<SubscriptionState> changed;
        {
            const std::scoped_lock lock(mutex_);
            for (auto& [key, known] : known_) {
                if (std::exchange(known.changed, false)) changed.push_back(known.state);
            }
            if (changed.empty()) {
                writing_ = false;
                idle_.notify_all();
                return;
            }
        }
        // A lost write is made good by the next acknowledgement; until then events come again.
        if (const auto written = store_.remember(changed); !written)
            log::warn("acknowledgements were not stored", {{"reason", written.error().message}});
    }
}

std::vector<SubscriptionState> EventSubscriptions::list() const {
    const std::scoped_lock lock(mutex_);
    std::vector<SubscriptionState> all;
    for (const auto& [key, known] : known_) all.push_back(known.state);
    return all;
}

Result<std::vector<SubscriptionState>> EventSubscriptions::look_for_others() {
    auto stored = store_.subscriptions();
    if (!stored) return fail(std::move(stored.error()));
    std::vector<SubscriptionState> moved;
    const std::scoped_lock lock(mutex_);
    for (const SubscriptionState& state : *stored) {
        const auto types = EventTypes::parse(state.types);
        if (!types) continue;
        Known& known = known_[Key(state.peer, state.name)];
        const bool is_new = known.state.peer.empty();
        if (!is_new && state.acknowledged > known.state.acknowledged) moved.push_back(state);
        const EventPosition acknowledged = std::max(state.acknowledged, known.state.acknowledged);
        if (is_new || state.seen > known.state.seen) {
            known.state = state;
            set_types(known, *types, state.types);
        }
        known.state.acknowledged = acknowledged;
    }
    return moved;
}

void EventSubscriptions::want_calls(bool wants) { calls_wanted_ += wants ? 1 : -1; }

}  // namespace crab::core
