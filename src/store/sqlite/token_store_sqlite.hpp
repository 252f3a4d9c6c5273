#pragma once

#include "base/ordered_mutex.hpp"
#include "store/sqlite/database.hpp"
#include "trust/token_store.hpp"

#include <filesystem>
#include <memory>

namespace crab::store::sqlite {

/// Tokens and devices in the tables `token` and `device`. Thread-safe.
class TokenStoreSqlite final : public trust::TokenStore {
public:
    /// Errors: those of Database.
    static Result<std::unique_ptr<TokenStoreSqlite>> open(const std::filesystem::path& path,
                                                          DatabaseOptions options = {});

    Result<Contents> load_all() override;
    Result<void> insert(const trust::TokenRecord& token,
                        const std::optional<trust::DeviceRecord>& new_device) override;
    Result<void> name_callers(std::span<const trust::CallerName> names) override;
    Result<void> rename_device(std::string_view slug, std::string_view name) override;
    Result<void> revoke(std::span<const std::string> token_ids, SystemTime at) override;
    Result<void> record_uses(std::span<const trust::TokenUse> uses) override;

private:
    explicit TokenStoreSqlite(Database database) : database_(std::move(database)) {}

    OrderedMutex<LockRank::kStore> mutex_;
    Database database_;
};

}  // namespace crab::store::sqlite
