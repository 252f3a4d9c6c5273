#pragma once

#include "base/ordered_mutex.hpp"
#include "core/audit/audit_store.hpp"
#include "crypto/digest.hpp"
#include "store/sqlite/database.hpp"

#include <filesystem>
#include <memory>

namespace crab::store::sqlite {

/// Audit batches in the table `audit`, one row each. The hash of a row covers the hash before it,
/// its number, its times, its count and its records; row `audit_anchor` holds number and hash of
/// the last row that prune() removed (0 and zeroes at first), so the chain can be followed from
/// there. The chain detects accidents and edits of single rows; whoever can rewrite the whole file
/// can rewrite the chain or truncate it, unless a head hash is stored elsewhere. Two connections,
/// so that searches do not delay appends. Thread-safe.
class AuditStoreSqlite final : public core::AuditStore {
public:
    /// `path` is a file, never `:memory:`. Errors: those of Database.
    static Result<std::unique_ptr<AuditStoreSqlite>> open(const std::filesystem::path& path,
                                                          DatabaseOptions options = {});

    Result<void> append(const core::AuditBatch& batch) override;
    Result<std::vector<std::string>> latest(std::size_t limit) override;
    /// Reads every batch since `not_before` until it finds one.
    Result<std::optional<std::string>> find_call(std::string_view call_id,
                                                 SystemTime not_before) override;
    Result<void> read(SystemTime not_before,
                      const std::function<bool(std::string_view records)>& take) override;
    Result<core::AuditCheck> verify_chain() override;
    Result<std::uint64_t> prune(SystemTime before) override;

private:
    struct Link {
        std::int64_t sequence = 0;
        crypto::Sha256Digest hash{};
    };

    AuditStoreSqlite(Database writer, Database reader)
        : writer_(std::move(writer)), reader_(std::move(reader)) {}
    static Result<Link> read_link(Database& database, std::string_view sql);

    OrderedMutex<LockRank::kStore> writing_;
    Database writer_;
    OrderedMutex<LockRank::kStore> reading_;
    Database reader_;
};

}  // namespace crab::store::sqlite
