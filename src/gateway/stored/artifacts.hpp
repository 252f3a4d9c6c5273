#pragma once

#include "adapters/rtp/calls/artifacts_api.hpp"
#include "core/call/artifact_store.hpp"
#include "gateway/context/gateway_context.hpp"
#include "net/loop/periodic.hpp"
#include "runtime/audit_trail.hpp"

#include <memory>
#include <optional>

namespace crab::gateway {

/// Large results: their store, its worker threads, and the routes for
/// callers. Devices upload through clawseed::Front.
class Artifacts final : public Component {
public:
    Artifacts(const GatewayContext& context, AuditTrail& audit)
        : context_(context), audit_(audit) {}

    std::string_view name() const override { return "artifacts"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of the store.
    Result<void> start() override;
    Result<Change> prepare(const config::GatewayConfig& next) override;
    void add_metrics(core::MetricsPage& page) override;
    void add_routes(const ListenerRoutes& table) override;
    void stop(Deadline deadline) override;

    /// Removes expired artifacts every minute, on `loop`, during the lifetime of the returned
    /// object.
    std::unique_ptr<net::Periodic> keep(net::EventLoop& loop);
    core::ArtifactStore& store() { return *store_; }
    BlockingPool& pool() { return *pool_; }
    /// For what callers ask for; they take turns.
    FairPool& reads() { return *reads_; }

private:
    const GatewayContext& context_;
    AuditTrail& audit_;
    std::unique_ptr<core::ArtifactStore> store_;
    /// Separate, so that a slow disk delays only artifacts
    std::unique_ptr<BlockingPool> pool_;
    std::unique_ptr<FairPool> reads_;
    std::optional<rtp::ArtifactsApi> api_;
};

}  // namespace crab::gateway
