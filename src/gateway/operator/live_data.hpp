#pragma once

#include "admin/live/live_api.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/operator/operator_api.hpp"
#include "gateway/rules/call_approvals.hpp"
#include "gateway/stored/credentials.hpp"
#include "gateway/stored/event_log.hpp"
#include "gateway/telemetry/trace_export.hpp"
#include "runtime/audit_trail.hpp"
#include "runtime/call_path.hpp"
#include "runtime/workers.hpp"

#include <memory>

namespace crab::gateway {

/// Live data for operators: streams, and statistics of the last hour.
class LiveData final : public Component {
public:
    struct Uses {
        const GatewayContext& context;
        Workers& workers;
        AuditTrail& audit;
        EventLog& events;
        CallApprovals& approvals;
        Credentials& credentials;
        CallPath& calls;
        OperatorApi& operator_api;
        const TraceExport& traces;
    };
    explicit LiveData(const Uses& uses) : uses_(uses) {}

    std::string_view name() const override { return "live data"; }
    std::span<const ConfigKey> keys() const override;
    Result<void> start() override;
    Result<Change> prepare(const config::GatewayConfig& next) override;
    void add_metrics(core::MetricsPage& page) override;
    void add_routes(const ListenerRoutes& table) override;

private:
    std::shared_ptr<const admin::DeviceRows> devices();

    const Uses uses_;
    std::shared_ptr<core::CallFeed> feed_;  ///< the audit log holds it too
    std::shared_ptr<const admin::DeviceRows> devices_;
    SteadyTime devices_at_{};
    std::unique_ptr<admin::LiveApi> api_;
};

}  // namespace crab::gateway
