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
/// can rewrite the chain or truncate it, unless a head hash is stored elsewhere. Appends and
/// look-ups have a connection each, whoever reads or verifies much opens one for it. Thread-safe.
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
    Result<void> read(const core::AuditRange& range,
                      const std::function<bool(const core::StoredAuditBatch&)>& take) override;
    Result<core::AuditCheck> verify_chain(const std::stop_token& stop) override;
    Result<std::uint64_t> prune(SystemTime before) override;

private:
    struct Link {
        std::int64_t sequence = 0;
        crypto::Sha256Digest hash{};
    };

    AuditStoreSqlite(std::filesystem::path path, DatabaseOptions options, Database writer,
                     Database reader)
        : path_(std::move(path)),
          options_(options),
          writer_(std::move(writer)),
          reader_(std::move(reader)) {}
    static Result<Link> read_link(Database& database, std::string_view sql);

    const std::filesystem::path path_;
    const DatabaseOptions options_;  ///< of one more connection
    OrderedMutex<LockRank::kStore> writing_;
    Database writer_;
    OrderedMutex<LockRank::kStore> reading_;
    Database reader_;
};

}  // namespace crab::store::sqlite
