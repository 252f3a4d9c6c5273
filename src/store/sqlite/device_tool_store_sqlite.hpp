#pragma once

#include "base/ordered_mutex.hpp"
#include "store/sqlite/database.hpp"
#include "trust/device_tool_store.hpp"

#include <filesystem>
#include <memory>

namespace crab::store::sqlite {

/// Tools of devices in the table `device_tools`. Changes are durable when a function returns.
/// Thread-safe.
class DeviceToolStoreSqlite final : public trust::DeviceToolStore {
public:
    /// Errors: those of Database.
    static Result<std::unique_ptr<DeviceToolStoreSqlite>> open(const std::filesystem::path& path,
                                                               DatabaseOptions options = {});

    Result<std::vector<trust::DeviceToolRecord>> load() override;
    Result<void> put(std::span<const trust::DeviceToolRecord> records) override;

private:
    explicit DeviceToolStoreSqlite(Database database) : database_(std::move(database)) {}

    OrderedMutex<LockRank::kStore> mutex_;
    Database database_;
};

}  // namespace crab::store::sqlite
