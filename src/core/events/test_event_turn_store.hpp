#pragma once

#include "core/events/event_turn_store.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>

namespace crab::core {

/// For tests: turns of events, kept in memory.
class EventTurnStoreMemory final : public EventTurnStore {
public:
    Result<bool> hold(std::string_view) override {
        const std::scoped_lock lock(mutex_);
        return !elsewhere_;
    }
    /// Whether another process has all agents.
    void set_elsewhere(bool elsewhere) {
        const std::scoped_lock lock(mutex_);
        elsewhere_ = elsewhere;
    }
    Result<std::optional<EventPosition>> position(std::string_view agent) override {
        const std::scoped_lock lock(mutex_);
        const auto it = positions_.find(agent);
        if (it == positions_.end()) return std::nullopt;
        return it->second;
    }
    Result<void> advance(std::string_view agent, EventPosition position) override {
        const std::scoped_lock lock(mutex_);
        positions_[std::string(agent)] = position;
        return {};
    }
    Result<bool> claim(const EventTurn& turn, EventPosition position) override {
        const std::scoped_lock lock(mutex_);
        if (elsewhere_) return fail(ErrorCode::kConflict, "another process has this agent");
        positions_[turn.agent] = position;
        const bool known = std::ranges::any_of(turns_, [&](const EventTurn& other) {
            return other.agent == turn.agent && other.event_id == turn.event_id;
        });
        if (!known) turns_.push_back(turn);
        return !known;
    }
    Result<void> finish(std::string_view turn_id, std::string_view end, SystemTime at) override {
        const std::scoped_lock lock(mutex_);
        for (EventTurn& turn : turns_) {
            if (turn.turn_id == turn_id && !turn.ended) turn.ended = at, turn.end = end;
        }
        return {};
    }
    Result<std::vector<EventTurn>> open_turns() override {
        const std::scoped_lock lock(mutex_);
        std::vector<EventTurn> open;
        std::ranges::copy_if(turns_, std::back_inserter(open),
                             [](const EventTurn& turn) { return !turn.ended; });
        return open;
    }
    Result<std::vector<EventTurn>> latest(std::size_t most) override {
        const std::scoped_lock lock(mutex_);
        std::vector<EventTurn> newest(turns_.rbegin(), turns_.rend());
        newest.resize(std::min(newest.size(), most));
        return newest;
    }
    Result<void> forget(SystemTime ended_before) override {
        const std::scoped_lock lock(mutex_);
        std::erase_if(turns_, [&](const EventTurn& turn) {
            return turn.ended && *turn.ended < ended_before;
        });
        return {};
    }

private:
    std::mutex mutex_;
    bool elsewhere_ = false;
    std::map<std::string, EventPosition, std::less<>> positions_;
    std::vector<EventTurn> turns_;
};

}  // namespace crab::core
