#include "runtime/call_ledger.hpp"

namespace crab::runtime {

Result<void> CallLedger::start() {
    if (options_.file.empty()) return {};
    auto opened = store::sqlite::open_ledger(options_.file, audit_.store(), clock_);
    if (!opened) return fail(std::move(opened.error()));
    store_ = std::move(opened->store);
    unfinished_ = std::move(opened->unfinished);
    if (options_.unfinished == Options::Unfinished::kForget) {
        if (auto forgotten = mark_reported(); !forgotten) return forgotten;
    }
    pool_ = std::make_unique<BlockingPool>(1);
    journal_ = std::make_unique<core::LedgerJournal>(*store_, *pool_, clock_);
    return {};
}

Result<void> CallLedger::mark_reported() {
    if (auto marked = store_->mark_reported(); !marked) return marked;
    unfinished_ = {};
    return {};
}

void CallLedger::forget_old() {
    if (store_) (void)store_->forget(clock_.system_now() - core::LedgerJournal::Options{}.keep);
}

Health CallLedger::health() const {
    if (!journal_ || !journal_->failing()) return {};
    return {.ok = false, .reason = "calls with side effects or a key are refused: see the disk"};
}

void CallLedger::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) {
        core::append_metric(out, "crab_ledger_entries", "gauge",
                            "Calls that a repeat would join or replay.",
                            static_cast<double>(ledger_.entries()));
        core::append_metric(out, "crab_calls_joining", "gauge",
                            "Repeats that wait for the result of a running call.",
                            static_cast<double>(ledger_.joins()));
        if (!journal_) return;
        core::append_metric(out, "crab_ledger_commits_total", "counter",
                            "Durable commits of the ledger.",
                            static_cast<double>(journal_->commits()));
        core::append_metric(out, "crab_ledger_writes_total", "counter",
                            "Admissions and ends made durable.",
                            static_cast<double>(journal_->changes()));
        core::append_metric(out, "crab_ledger_refused_total", "counter",
                            "Admissions and ends that the disk refused.",
                            static_cast<double>(journal_->refused()));
        core::append_metric(out, "crab_ledger_failing", "gauge",
                            "1 while calls with side effects or a key are refused.",
                            journal_->failing() ? 1 : 0);
    });
}

void CallLedger::stop(Deadline) { journal_.reset(); }

}  // namespace crab::runtime
