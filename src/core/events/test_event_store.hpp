#pragma once

#include "core/events/event_store.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace crab::core {

/// For tests: keeps events in memory, and fails on demand. Does not track unknown outcomes.
class EventStoreMemory final : public EventStore {
public:
    std::vector<Result<EventReceipt>> append(const std::vector<NewEvent>& events,
                                             SystemTime at) override {
        const std::scoped_lock lock(mutex_);
        ++commits_;
        std::vector<Result<EventReceipt>> receipts;
        for (const NewEvent& event : events) receipts.push_back(apply(event, at));
        return receipts;
    }
    Result<std::vector<StoredEvent>> read(EventPosition after, std::size_t most,
                                          std::size_t) override {
        const std::scoped_lock lock(mutex_);
        ++reads_;
        std::vector<StoredEvent> events;
        for (const StoredEvent& event : events_) {
            if (event.position > after && events.size() < most) events.push_back(event);
        }
        return events;
    }
    Result<EventBounds> bounds() override {
        const std::scoped_lock lock(mutex_);
        return bounds_of();
    }
    Result<std::vector<StoredEvent>> open_calls() override {
        const std::scoped_lock lock(mutex_);
        std::vector<StoredEvent> open;
        std::ranges::copy_if(events_, std::back_inserter(open), [&](const StoredEvent& event) {
            return open_.contains(event.event.event_id);
        });
        return open;
    }
    Result<std::vector<std::string>> requests_since(SystemTime since) override {
        const std::scoped_lock lock(mutex_);
        std::vector<std::string> ids;
        for (const StoredEvent& event : events_) {
            if (event.at >= since && requested_.contains(event.event.event_id))
                ids.push_back(event.event.event_id);
        }
        return ids;
    }
    Result<std::vector<SubscriptionState>> subscriptions() override {
        const std::scoped_lock lock(mutex_);
        std::vector<SubscriptionState> all;
        for (const auto& [key, state] : states_) all.push_back(state);
        return all;
    }
    Result<void> remember(const std::vector<SubscriptionState>& states) override {
        const std::scoped_lock lock(mutex_);
        for (const SubscriptionState& state : states) states_[{state.peer, state.name}] = state;
        return {};
    }
    /// Removes by age only.
    Result<EventBounds> forget(SystemTime before, std::uint64_t) override {
        const std::scoped_lock lock(mutex_);
        std::erase_if(events_, [&](const StoredEvent& event) { return event.at < before; });
        return bounds_of();
    }

    void set_failing(bool failing) {
        const std::scoped_lock lock(mutex_);
        failing_ = failing;
    }
    std::vector<StoredEvent> events() const {
        const std::scoped_lock lock(mutex_);
        return events_;
    }
    /// The CallStep of each appended event.
    std::vector<CallStep> steps() const {
        const std::scoped_lock lock(mutex_);
        return steps_;
    }
    std::size_t commits() const {
        const std::scoped_lock lock(mutex_);
        return commits_;
    }
    std::size_t reads() const {
        const std::scoped_lock lock(mutex_);
        return reads_;
    }

private:
    Result<EventReceipt> apply(const NewEvent& event, SystemTime at) {
        if (failing_) return fail(ErrorCode::kUnavailable, "the disk is full");
        steps_.push_back(event.step);
        if (event.step == CallStep::kSettles)
            return EventReceipt{.status = EventStatus::kDropped, .position = 0, .event_id = {}};
        const auto key =
            std::pair(event.publisher,
                      event.idempotency_key.empty() ? event.event.event_id : event.idempotency_key);
        if (const auto known = seen_.find(key); known != seen_.end() && !event.publisher.empty()) {
            const auto& [content, event_id] = known->second;
            return EventReceipt{.status = content == event.content ? EventStatus::kDuplicate
                                                                   : EventStatus::kConflict,
                                .position = 0,
                                .event_id = event_id};
        }
        seen_.emplace(key, std::pair(event.content, event.event.event_id));
        events_.push_back({.position = next_, .at = at, .event = event.event});
        if (event.step == CallStep::kRequested)
            open_.insert(*requested_.insert(event.event.event_id).first);
        open_.erase(event.requested_id);
        return EventReceipt{.status = EventStatus::kAccepted, .position = next_++, .event_id = {}};
    }
    EventBounds bounds_of() const {
        EventBounds bounds{.first = next_, .last = next_ - 1, .bytes = 0, .oldest = {}};
        if (!events_.empty()) {
            bounds.first = events_.front().position;
            bounds.oldest = events_.front().at;
        }
        return bounds;
    }

    mutable std::mutex mutex_;
    std::vector<StoredEvent> events_;
    std::vector<CallStep> steps_;
    std::set<std::string> requested_, open_;
    std::map<std::pair<std::string, std::string>, std::pair<ContentDigest, std::string>> seen_;
    std::map<std::pair<std::string, std::string>, SubscriptionState> states_;
    EventPosition next_ = 1;
    std::size_t commits_ = 0, reads_ = 0;
    bool failing_ = false;
};

}  // namespace crab::core
