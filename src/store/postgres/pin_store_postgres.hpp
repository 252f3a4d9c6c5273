#pragma once

#include "base/ordered_mutex.hpp"
#include "store/postgres/connection.hpp"
#include "trust/pin_store.hpp"

#include <utility>

namespace crab::store::postgres {

/// Accepted descriptions. The schema is there. Thread-safe.
class PinStorePostgres final : public trust::PinStore {
public:
    explicit PinStorePostgres(ConnectionOptions options) : database_(std::move(options)) {}

    Result<std::vector<trust::Pin>> load(std::string_view source) override;
    Result<void> put(std::span<const trust::Pin> pins) override;
    Result<void> forget(std::string_view source) override;

private:
    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
