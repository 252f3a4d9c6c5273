#pragma once

#include "base/ordered_mutex.hpp"
#include "console/session_store.hpp"
#include "store/postgres/connection.hpp"

#include <cstdint>
#include <utility>

namespace crab::store::postgres {

/// Sessions of one node's console. The schema is there. Thread-safe.
class ConsoleSessionStorePostgres final : public console::SessionStore {
public:
    ConsoleSessionStorePostgres(ConnectionOptions options, std::int16_t node)
        : node_(node), database_(std::move(options)) {}

    Result<std::vector<console::StoredSession>> load_all() override;
    Result<void> insert(const console::StoredSession& session) override;
    Result<void> remove(std::span<const std::uint64_t> numbers) override;
    Result<void> record_uses(std::span<const console::SessionUse> uses) override;

private:
    const std::int16_t node_;
    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
