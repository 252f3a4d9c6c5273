#pragma once

#include "base/task/blocking_pool.hpp"
#include "core/call/early_cancels.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ledger/ledger_journal.hpp"
#include "runtime/audit_trail.hpp"
#include "store/sqlite/ledger_file.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace crab::runtime {

/// The ledger, and its journal in a file, which records started calls across crashes.
class CallLedger final : public Component {
public:
    struct Options {
        std::filesystem::path file;  ///< empty: there is no journal
        /// What to do about unfinished calls of earlier runs.
        enum class Unfinished : std::uint8_t {
            kKeepUntilReported,  ///< keep them in unfinished() until mark_reported()
            kForget,       ///< nothing: their repeats get OUTCOME_UNKNOWN
        };
        Unfinished unfinished = Unfinished::kKeepUntilReported;
    };
    CallLedger(const Clock& clock, AuditTrail& audit, Options options)
        : clock_(clock),
          audit_(audit),
          options_(std::move(options)),
          ledger_(clock, core::Ledger::Options{}) {}

    std::string_view name() const override { return "ledger"; }
    /// Errors: those of the store.
    Result<void> start() override;
    Health health() const override;
    void add_metrics(core::MetricsPage& page) override;
    /// Flushes the journal; the event loops must have stopped but still exist.
    void stop(Deadline deadline) override;

    core::Ledger& ledger() { return ledger_; }
    /// Null without a file.
    core::LedgerJournal* journal() { return journal_.get(); }
    core::EarlyCancels& early_cancels() { return early_cancels_; }
    /// Unfinished calls of earlier runs, until mark_reported() confirms that they have been
    /// processed.
    const std::vector<core::UnfinishedCall>& unfinished() const { return unfinished_; }
    Result<void> mark_reported();
    /// Removes entries that are too old to be repeated; blocks.
    void forget_old();

private:
    const Clock& clock_;
    AuditTrail& audit_;
    const Options options_;
    std::unique_ptr<store::sqlite::LedgerStoreSqlite> store_;
    std::unique_ptr<BlockingPool> pool_;
    std::vector<core::UnfinishedCall> unfinished_;
    std::unique_ptr<core::LedgerJournal> journal_;
    core::Ledger ledger_;
    core::EarlyCancels early_cancels_;
};

}  // namespace crab::runtime
