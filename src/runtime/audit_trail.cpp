#include "runtime/audit_trail.hpp"

#include "core/audit/audit_store_none.hpp"
#include "store/sqlite/audit_store_sqlite.hpp"

namespace crab::runtime {

Result<void> AuditTrail::start() {
    store_ = std::make_shared<core::AuditStoreNone>();
    if (!options_.file.empty()) {
        auto opened = store::sqlite::AuditStoreSqlite::open(options_.file);
        if (!opened) return fail(std::move(opened.error()));
        store_ = std::move(*opened);
    }
    pool_ = std::make_unique<BlockingPool>(options_.threads);
    log_ = std::make_unique<core::AuditLog>(store_, *pool_, clock_);
    return {};
}

Health AuditTrail::health() const {
    if (!log_ || log_->lost() == 0) return {};
    return {.ok = false, .reason = "audit records were lost: see the disk"};
}

void AuditTrail::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) {
        core::append_metric(out, "crab_audit_backlog_bytes", "gauge",
                            "Audit records not stored yet.",
                            static_cast<double>(log_->backlog_bytes()));
        core::append_metric(out, "crab_audit_lost_total", "counter",
                            "Audit records that the store refused.",
                            static_cast<double>(log_->lost()));
    });
}

void AuditTrail::forget_old() { (void)store_->prune(clock_.system_now() - options_.kept); }

void AuditTrail::stop(Deadline) {
    log_->flush_and_wait();
    pool_->settle();
}

}  // namespace crab::runtime
