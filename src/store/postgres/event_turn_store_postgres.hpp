#pragma once

#include "base/ordered_mutex.hpp"
#include "core/events/event_turn_store.hpp"
#include "store/postgres/connection.hpp"

#include <utility>

namespace crab::store::postgres {

/// Which events have started turns. The schema is there. Thread-safe.
class EventTurnStorePostgres final : public core::EventTurnStore {
public:
    explicit EventTurnStorePostgres(ConnectionOptions options) : database_(std::move(options)) {}

    Result<std::optional<core::EventPosition>> position(std::string_view agent) override;
    Result<void> advance(std::string_view agent, core::EventPosition position) override;
    Result<bool> claim(const core::EventTurn& turn, core::EventPosition position) override;
    Result<void> finish(std::string_view turn_id, std::string_view end, SystemTime at) override;
    Result<std::vector<core::EventTurn>> open_turns() override;
    Result<std::vector<core::EventTurn>> latest(std::size_t most) override;
    Result<void> forget(SystemTime ended_before) override;

private:
    Result<void> set_position(std::string_view agent, core::EventPosition position);

    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
