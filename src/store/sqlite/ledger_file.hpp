#pragma once

#include "base/clock.hpp"
#include "core/audit/audit_store.hpp"
#include "store/sqlite/ledger_store_sqlite.hpp"

#include <filesystem>
#include <memory>
#include <vector>

namespace crab::store::sqlite {

struct OpenedLedger {
    std::unique_ptr<LedgerStoreSqlite> store;
    /// Of earlier runs, until `store->mark_reported()`
    std::vector<core::UnfinishedCall> unfinished;
};

/// Opens the durable ledger at `file` and adds audit records that a crash prevented. Errors: those
/// of the two stores.
Result<OpenedLedger> open_ledger(const std::filesystem::path& file, core::AuditStore& audit,
                                 const Clock& clock);

}  // namespace crab::store::sqlite
