#include "gateway/audit_trail.hpp"

namespace crab::gateway {
namespace {

constexpr std::size_t kThreads = 2;  // one writes, one searches

}  // namespace

std::span<const ConfigKey> AuditTrail::keys() const {
    using Config = const config::GatewayConfig&;
    static constexpr ConfigKey kKeys[] = {restart_key("audit", [](Config c) { return c.audit; })};
    return kKeys;
}

Result<void> AuditTrail::start() {
    auto opened = store::sqlite::AuditStoreSqlite::open(context_.paths.state_dir / "audit.db");
    if (!opened) return fail(std::move(opened.error()));
    store_ = std::move(*opened);
    pool_ = std::make_unique<BlockingPool>(kThreads);
    log_ = std::make_unique<core::AuditLog>(store_, *pool_, context_.clock);
    return {};
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

void AuditTrail::forget_old() {
    (void)store_->prune(context_.clock.system_now() - context_.config.audit.retention);
}

void AuditTrail::stop(Deadline) {
    log_->flush_and_wait();
    pool_->settle();
}

}  // namespace crab::gateway
