#pragma once

#include "base/ordered_mutex.hpp"
#include "console/passkey_store.hpp"
#include "store/postgres/connection.hpp"

#include <utility>

namespace crab::store::postgres {

/// Passkeys of a fleet's consoles. The schema is there. Thread-safe.
class PasskeyStorePostgres final : public console::PasskeyStore {
public:
    explicit PasskeyStorePostgres(ConnectionOptions options) : database_(std::move(options)) {}

    Result<std::optional<console::StoredPasskey>> find(std::string_view id) override;
    Result<std::vector<console::StoredPasskey>> list() override;
    Result<void> insert(const console::StoredPasskey& passkey) override;
    Result<void> remove(std::string_view id) override;
    Result<bool> record_use(std::string_view id, std::uint32_t sign_count, SystemTime at) override;

private:
    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
