#pragma once

#include "base/task/blocking_pool.hpp"
#include "core/audit/audit_log.hpp"
#include "gateway/component.hpp"
#include "gateway/gateway_context.hpp"
#include "store/sqlite/audit_store_sqlite.hpp"

#include <memory>

namespace crab::gateway {

/// The audit log: `audit.db`, and the log that writes to it in batches.
class AuditTrail final : public Component {
public:
    explicit AuditTrail(const GatewayContext& context) : context_(context) {}

    std::string_view name() const override { return "audit log"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of the store.
    Result<void> start() override;
    void add_metrics(core::MetricsPage& page) override;
    void stop(Deadline deadline) override;

    core::AuditLog& log() { return *log_; }
    store::sqlite::AuditStoreSqlite& store() { return *store_; }
    /// Removes records beyond the retention time; blocks.
    void forget_old();

private:
    const GatewayContext& context_;
    std::unique_ptr<BlockingPool> pool_;  ///< for the audit log only
    std::shared_ptr<store::sqlite::AuditStoreSqlite> store_;
    std::unique_ptr<core::AuditLog> log_;
};

}  // namespace crab::gateway
