#pragma once

#include "base/ordered_mutex.hpp"
#include "console/passkey_store.hpp"
#include "store/sqlite/database.hpp"

#include <filesystem>
#include <memory>

namespace crab::store::sqlite {

/// Passkeys of the console in the table `console_passkey`. Thread-safe.
class PasskeyStoreSqlite final : public console::PasskeyStore {
public:
    /// Errors: those of Database.
    static Result<std::unique_ptr<PasskeyStoreSqlite>> open(const std::filesystem::path& path,
                                                            DatabaseOptions options = {});

    Result<std::optional<console::StoredPasskey>> find(std::string_view id) override;
    Result<std::vector<console::StoredPasskey>> list() override;
    Result<void> insert(const console::StoredPasskey& passkey) override;
    Result<void> remove(std::string_view id) override;
    Result<bool> record_use(std::string_view id, std::uint32_t sign_count, SystemTime at) override;

private:
    explicit PasskeyStoreSqlite(Database database) : database_(std::move(database)) {}

    OrderedMutex<LockRank::kStore> mutex_;
    Database database_;
};

}  // namespace crab::store::sqlite
