#pragma once

#include "base/ordered_mutex.hpp"
#include "store/postgres/connection.hpp"
#include "trust/token_store.hpp"

#include <utility>

namespace crab::store::postgres {

/// Tokens (hashes) and devices; each change is one transaction. The schema is there. Thread-safe.
class TokenStorePostgres final : public trust::TokenStore {
public:
    explicit TokenStorePostgres(ConnectionOptions options) : database_(std::move(options)) {}

    Result<Contents> load_all() override;
    Result<void> insert(const trust::TokenRecord& token,
                        const std::optional<trust::DeviceRecord>& new_device) override;
    Result<void> name_callers(std::span<const trust::CallerName> names) override;
    Result<void> rename_device(std::string_view slug, std::string_view name) override;
    Result<void> revoke(std::span<const std::string> token_ids, SystemTime at) override;
    Result<void> record_uses(std::span<const trust::TokenUse> uses) override;

private:
    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
