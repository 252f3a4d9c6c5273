#pragma once

#include "base/task/blocking_pool.hpp"
#include "core/call/early_cancels.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ledger/ledger_journal.hpp"
#include "gateway/audit_trail.hpp"
#include "store/sqlite/ledger_file.hpp"

#include <memory>
#include <vector>

namespace crab::gateway {

/// Which calls run and which have ended: the ledger, and its journal in `ledger.db`, which says
/// after a crash what had begun.
class CallLedger final : public Component {
public:
    CallLedger(const GatewayContext& context, AuditTrail& audit)
        : context_(context), audit_(audit), ledger_(context.clock, core::Ledger::Options{}) {}

    std::string_view name() const override { return "ledger"; }
    /// Errors: those of the store.
    Result<void> start() override;
    Health health() const override;
    void add_metrics(core::MetricsPage& page) override;
    /// Writes what waits; while the loops that asked for it still exist, and run no more.
    void stop(Deadline deadline) override;

    core::Ledger& ledger() { return ledger_; }
    core::LedgerJournal& journal() { return *journal_; }
    core::EarlyCancels& early_cancels() { return early_cancels_; }
    /// Calls of earlier runs that have no end, until told() says that all who owe something for
    /// them have it.
    const std::vector<core::UnfinishedCall>& unfinished() const { return unfinished_; }
    Result<void> told();
    /// Drops what no repeat can ask for any more; blocks.
    void forget_old();

private:
    const GatewayContext& context_;
    AuditTrail& audit_;
    std::unique_ptr<store::sqlite::LedgerStoreSqlite> store_;
    std::unique_ptr<BlockingPool> pool_;
    std::vector<core::UnfinishedCall> unfinished_;
    std::unique_ptr<core::LedgerJournal> journal_;
    core::Ledger ledger_;
    core::EarlyCancels early_cancels_;
};

}  // namespace crab::gateway
