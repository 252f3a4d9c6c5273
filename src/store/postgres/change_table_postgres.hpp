#pragma once

#include "base/ordered_mutex.hpp"
#include "fleet/change_table.hpp"
#include "store/postgres/connection.hpp"

#include <utility>

namespace crab::store::postgres {

/// The table trust_change, which triggers write. The schema is there. Thread-safe.
class ChangeTablePostgres final : public fleet::ChangeTable {
public:
    explicit ChangeTablePostgres(ConnectionOptions options) : database_(std::move(options)) {}

    Result<Numbers> read() override {
        const std::scoped_lock lock(mutex_);
        auto rows = database_.query("SELECT what, number FROM trust_change");
        if (!rows) return fail(std::move(rows.error()));
        Numbers numbers;
        for (const auto row : *rows) numbers.emplace(row.text(0), row.integer(1));
        return numbers;
    }

private:
    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
