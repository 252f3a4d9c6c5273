#pragma once

#include "base/ordered_mutex.hpp"
#include "fleet/node_table.hpp"
#include "store/postgres/connection.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace crab::store::postgres {

/// The table `node`. The row of its number is there: node_number() makes it. A process begins anew
/// only while no other has taken its number (kConflict). Thread-safe.
class NodeTablePostgres final : public fleet::NodeTable {
public:
    explicit NodeTablePostgres(ConnectionOptions options) : database_(std::move(options)) {}

    Result<fleet::NodeName> begin(std::uint16_t number, std::uint32_t boot) override;
    Result<bool> renew(fleet::NodeName self) override;
    Result<std::vector<fleet::NodeRow>> read() override;
    Result<bool> fence(fleet::NodeName other, std::uint64_t beats) override;
    Result<void> leave(fleet::NodeName self) override;

private:
    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
    std::optional<std::uint32_t> boot_;  ///< of this process, once it has begun
};

}  // namespace crab::store::postgres
