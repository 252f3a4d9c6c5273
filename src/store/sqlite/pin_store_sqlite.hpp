#pragma once

#include "base/ordered_mutex.hpp"
#include "store/sqlite/database.hpp"
#include "trust/pin_store.hpp"

#include <filesystem>
#include <memory>

namespace crab::store::sqlite {

/// Pins in the table `pins`. Changes are durable when a function returns. Thread-safe.
class PinStoreSqlite final : public trust::PinStore {
public:
    /// Errors: those of Database.
    static Result<std::unique_ptr<PinStoreSqlite>> open(const std::filesystem::path& path,
                                                        DatabaseOptions options = {});

    Result<std::vector<trust::Pin>> load(std::string_view source) override;
    Result<void> put(std::span<const trust::Pin> pins) override;
    Result<void> forget(std::string_view source) override;

private:
    explicit PinStoreSqlite(Database database) : database_(std::move(database)) {}

    OrderedMutex<LockRank::kStore> mutex_;
    Database database_;
};

}  // namespace crab::store::sqlite
