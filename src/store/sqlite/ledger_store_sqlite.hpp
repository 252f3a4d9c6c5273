#pragma once

#include "base/ordered_mutex.hpp"
#include "core/ledger/ledger_store.hpp"
#include "store/sqlite/database.hpp"

#include <filesystem>
#include <memory>

namespace crab::store::sqlite {

/// Calls in the table `ledger`, in the order of their admission, and their outcomes in
/// `ledger_end`: both grow at their end, so that a commit touches few pages. An entry without an
/// end is open. One connection, one lock. Thread-safe.
class LedgerStoreSqlite final : public core::LedgerStore {
public:
    /// Errors: those of Database.
    static Result<std::unique_ptr<LedgerStoreSqlite>> open(const std::filesystem::path& path,
                                                           DatabaseOptions options = {});

    std::vector<Result<core::LedgerEntry>> write(
        const std::vector<core::LedgerChange>& changes) override;
    Result<std::vector<core::UnfinishedCall>> unfinished() override;
    Result<void> mark_reported() override;
    Result<std::uint64_t> forget(SystemTime before) override;

private:
    struct Statements {
        Statement insert, find, remove, end, remove_end;
    };

    LedgerStoreSqlite(Database database, Statements statements, std::int64_t next)
        : database_(std::move(database)), statements_(std::move(statements)), next_(next) {}
    Result<core::LedgerEntry> apply(const core::LedgerAdmission& admission);
    Result<core::LedgerEntry> apply(const core::LedgerEnd& end);
    Result<core::LedgerEntry> apply(const core::LedgerRelease& release);
    Result<core::LedgerEntry> apply(const core::LedgerQuestion& question);
    Result<core::LedgerEntry> find(const std::string& tenant, const std::string& principal,
                                   const std::string& key);
    Result<void> remove(std::int64_t number);

    OrderedMutex<LockRank::kStore> mutex_;
    Database database_;
    Statements statements_;
    std::int64_t next_;   ///< number of the next entry; none is used twice
};

}  // namespace crab::store::sqlite
