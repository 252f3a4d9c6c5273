#pragma once

#include "base/ordered_mutex.hpp"
#include "store/postgres/connection.hpp"
#include "trust/device_tool_store.hpp"

#include <utility>

namespace crab::store::postgres {

/// The known tools of devices. The schema is there. Thread-safe.
class DeviceToolStorePostgres final : public trust::DeviceToolStore {
public:
    explicit DeviceToolStorePostgres(ConnectionOptions options) : database_(std::move(options)) {}

    Result<std::vector<trust::DeviceToolRecord>> load() override;
    Result<void> put(std::span<const trust::DeviceToolRecord> records) override;

private:
    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
