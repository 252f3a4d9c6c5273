#pragma once

#include "admin/approvals_api.hpp"
#include "base/counter.hpp"
#include "base/id_source.hpp"
#include "core/approvals/approvals.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/rules/hitl_client.hpp"
#include "gateway/stored/event_log.hpp"
#include "gateway/stored/peer_records.hpp"
#include "runtime/audit_trail.hpp"
#include "runtime/workers.hpp"
#include "trust/device_tools.hpp"

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace crab::gateway {

/// How long questions were open. One writing thread at a time.
struct ApprovalWaits {
    static constexpr std::array<double, 9> kBounds{0.5, 1, 2, 5, 10, 30, 60, 120, 300};

    void count(std::chrono::nanoseconds waited);
    /// `crab_approval_wait_seconds`.
    void append_metrics(std::string& out) const;

    std::array<Counter, kBounds.size() + 1> counts;
    Counter ns;
};

/// Approvals of calls and of devices' new tools. Stored decisions are in trust.db; changes go to
/// watchers, the audit log and events.
class CallApprovals final : public Component, private core::Approvals::Observer {
public:
    CallApprovals(const GatewayContext& context, Workers& workers, AuditTrail& audit,
                  EventLog& events, PeerRecords& peers)
        : context_(context),
          workers_(workers),
          audit_(audit),
          events_(events),
          peers_(peers),
          ids_(context.clock) {}

    std::string_view name() const override { return "approvals"; }
    std::span<const ConfigKey> keys() const override;
    /// The file has already been checked. Errors: those of the store.
    Result<void> start() override;
    Result<Change> prepare(const config::GatewayConfig& next) override;
    void add_metrics(core::MetricsPage& page) override;
    void add_routes(const ListenerRoutes& table) override;
    /// Ends every request, so that calls waiting for a person do not delay shutdown.
    void drain() override { approvals_->stop(); }

    /// Also asks sw4rm's HitlService. Call it before calls arrive; it must outlive the last
    /// request.
    void also_ask(HitlClient& service) { hitl_ = &service; }
    /// Also tells of each question. The same; `tell` must be quick, and not call the approvals.
    using Tell = std::function<void(const core::ApprovalQuestion&)>;
    void also_tell(Tell tell) { tell_ = std::move(tell); }
    core::Approvals& approvals() { return *approvals_; }
    /// Questions and their ends, for whoever watches.
    admin::ApprovalFeed& feed() { return feed_; }
    trust::DeviceTools& device_tools() { return *device_tools_; }

private:
    void on_question(const core::ApprovalQuestion& question) override;
    void on_end(const core::ApprovalQuestion& question, const core::ApprovalEnd& end) override;
    void tell(std::string_view type, const core::ApprovalQuestion& question,
              const core::ApprovalEnd* end);

    const GatewayContext& context_;
    Workers& workers_;
    AuditTrail& audit_;
    EventLog& events_;
    PeerRecords& peers_;
    ApprovalWaits waits_;  ///< written with the approvals locked
    std::unique_ptr<core::ApprovalStore> store_;
    std::unique_ptr<trust::DeviceToolStore> tool_store_;
    admin::ApprovalFeed feed_;
    std::mutex ids_mutex_;
    IdSource ids_;
    std::unique_ptr<core::Approvals> approvals_;
    HitlClient* hitl_ = nullptr;  ///< null: there is no such service
    Tell tell_;
    std::unique_ptr<admin::ApprovalsApi> api_;
    std::unique_ptr<trust::DeviceTools> device_tools_;
};

}  // namespace crab::gateway
