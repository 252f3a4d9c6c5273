#pragma once

#include "base/task/blocking_pool.hpp"
#include "core/call/early_cancels.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ledger/ledger_journal.hpp"
#include "core/ledger/ledger_store.hpp"
#include "runtime/audit_trail.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

namespace crab::runtime {

/// The ledger, and its stored journal, which records started calls across crashes.
class CallLedger final : public Component {
public:
    struct Options {
        /// Opens the store of the journal; empty: there is none
        std::function<Result<std::unique_ptr<core::LedgerStore>>()> open;
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
    /// A store in that file, for Options::open; without a file, none.
    static std::function<Result<std::unique_ptr<core::LedgerStore>>()> in_file(
        const std::filesystem::path& file);

    /// Null without a store.
    core::LedgerJournal* journal() { return journal_.get(); }
    core::EarlyCancels& early_cancels() { return early_cancels_; }
    /// Unfinished calls of earlier runs, until mark_reported() confirms that they have been
    /// processed.
    const std::vector<core::UnfinishedCall>& unfinished() const { return unfinished_; }
    Result<void> mark_reported();
    /// Removes entries that are too old to be repeated; blocks.
    void forget_old();

private:
    Result<void> read_unfinished();

    const Clock& clock_;
    AuditTrail& audit_;
    const Options options_;
    std::unique_ptr<core::LedgerStore> store_;
    std::unique_ptr<BlockingPool> pool_;
    std::vector<core::UnfinishedCall> unfinished_;
    std::unique_ptr<core::LedgerJournal> journal_;
    core::Ledger ledger_;
    core::EarlyCancels early_cancels_;
};

}  // namespace crab::runtime
