#include "runtime/call_ledger.hpp"

#include "base/log.hpp"
#include "core/audit/call_record.hpp"
#include "store/sqlite/ledger_store_sqlite.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace crab::runtime {

std::function<Result<std::unique_ptr<core::LedgerStore>>()> CallLedger::in_file(
    const std::filesystem::path& file) {
    if (file.empty()) return {};
    return [file]() -> Result<std::unique_ptr<core::LedgerStore>> {
        return store::sqlite::LedgerStoreSqlite::open(file);
    };
}

Result<void> CallLedger::start() {
    if (!options_.open) return {};
    auto opened = options_.open();
    if (!opened) return fail(std::move(opened.error()));
    store_ = std::move(*opened);
    if (auto read = read_unfinished(); !read) return read;
    if (options_.unfinished == Options::Unfinished::kForget) {
        if (auto forgotten = mark_reported(); !forgotten) return forgotten;
    }
    pool_ = std::make_unique<BlockingPool>(1);
    journal_ = std::make_unique<core::LedgerJournal>(*store_, *pool_, clock_);
    return {};
}

/// Their audit records are written now, unless they are there.
Result<void> CallLedger::read_unfinished() {
    auto unfinished = store_->unfinished();
    if (!unfinished) return fail(std::move(unfinished.error()));
    core::AuditStore& audit = audit_.store();
    const SystemTime now = clock_.system_now();
    for (const core::UnfinishedCall& call : *unfinished) {
        if (call.record.empty()) continue;
        if (const auto id = core::call_id_of(call.record)) {
            const auto found = audit.find_call(*id, now - std::chrono::hours(24));
            if (!found) return fail(found.error());
            if (*found) continue;
        }
        const auto added =
            audit.append({.first = now, .last = now, .count = 1, .records = call.record});
        if (!added) return fail(added.error());
    }
    unfinished_ = std::move(*unfinished);
    const auto open = std::ranges::count_if(
        unfinished_, [](const core::UnfinishedCall& call) { return call.outcome == nullptr; });
    if (open > 0)
        log::warn("calls were running when this process stopped; their outcome is unknown",
                  {{"calls", open}});
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
        core::append_metric(out, "crab_ledger_owed", "gauge",
                            "Ends that the database has not taken yet, and that are sent again.",
                            static_cast<double>(store_->owed()));
        core::append_metric(out, "crab_ledger_failing", "gauge",
                            "1 while calls with side effects or a key are refused.",
                            journal_->failing() ? 1 : 0);
    });
}

void CallLedger::stop(Deadline) { journal_.reset(); }

}  // namespace crab::runtime
