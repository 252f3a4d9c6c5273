#pragma once

#include "base/task/blocking_pool.hpp"
#include "core/audit/audit_log.hpp"
#include "runtime/component.hpp"

#include <filesystem>
#include <memory>

namespace crab::runtime {

/// The audit log: a file, and what writes to it in batches.
class AuditTrail : public Component {
public:
    struct Options {
        std::filesystem::path file;  ///< empty: nothing is kept
        Milliseconds kept{0};
        std::size_t threads = 2;  ///< one writes, the others search
    };
    AuditTrail(const Clock& clock, Options options) : clock_(clock), options_(std::move(options)) {}

    std::string_view name() const override { return "audit log"; }
    /// Errors: those of the store.
    Result<void> start() override;
    /// Once records are lost it stays unhealthy: what is lost does not come back.
    Health health() const override;
    void add_metrics(core::MetricsPage& page) override;
    void stop(Deadline deadline) override;

    core::AuditLog& log() { return *log_; }
    core::AuditStore& store() { return *store_; }
    /// Removes records beyond the retention time; blocks.
    void forget_old();

private:
    const Clock& clock_;
    const Options options_;
    std::unique_ptr<BlockingPool> pool_;  ///< for the audit log only
    std::shared_ptr<core::AuditStore> store_;
    std::unique_ptr<core::AuditLog> log_;
};

}  // namespace crab::runtime
