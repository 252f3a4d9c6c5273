#pragma once

#include "base/ordered_mutex.hpp"
#include "core/events/event_turn_store.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/node_claim.hpp"

#include <optional>
#include <string_view>
#include <utility>

namespace crab::store::postgres {

/// Which events have started turns. In a fleet one process at a time has an agent: a row of
/// job_lease, in which each change of its position looks. The schema is there. Thread-safe.
class EventTurnStorePostgres final : public core::EventTurnStore {
public:
    /// `self`: of a fleet.
    explicit EventTurnStorePostgres(ConnectionOptions options, std::optional<NodeProcess> self = {})
        : self_(self), database_(std::move(options)) {}

    Result<bool> hold(std::string_view agent) override;
    Result<std::optional<core::EventPosition>> position(std::string_view agent) override;
    Result<void> advance(std::string_view agent, core::EventPosition position) override;
    Result<bool> claim(const core::EventTurn& turn, core::EventPosition position) override;
    Result<void> finish(std::string_view turn_id, std::string_view end, SystemTime at) override;
    Result<std::vector<core::EventTurn>> open_turns() override;
    Result<std::vector<core::EventTurn>> latest(std::size_t most) override;
    Result<void> forget(SystemTime ended_before) override;

private:
    Result<void> set_position(std::string_view agent, core::EventPosition position);

    Result<void> expect_held(std::string_view agent);

    const std::optional<NodeProcess> self_;
    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
