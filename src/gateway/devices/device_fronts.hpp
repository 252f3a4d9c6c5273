#pragma once

#include "adapters/clawseed/front.hpp"
#include "adapters/clawseed/hub.hpp"
#include "gateway/agents/turns.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/context/session_workers.hpp"
#include "gateway/rules/access_rights.hpp"
#include "gateway/rules/call_approvals.hpp"
#include "gateway/rules/current_rules.hpp"
#include "gateway/stored/artifacts.hpp"
#include "gateway/stored/chat_sessions.hpp"
#include "gateway/stored/credentials.hpp"
#include "gateway/stored/event_log.hpp"
#include "runtime/audit_trail.hpp"
#include "runtime/call_ledger.hpp"
#include "runtime/call_path.hpp"
#include "runtime/workers.hpp"

#include <memory>
#include <vector>

namespace crab::gateway {

/// Devices and chat clients: the hub of all connections, and a front per event loop. Registers the
/// gateway's own tools, which list devices.
class DeviceFronts final : public Component {
public:
    struct Uses {
        const GatewayContext& context;
        Workers& workers;
        SessionWorkers& session_workers;
        Credentials& credentials;
        ChatSessions& chats;
        CallLedger& ledger;
        AuditTrail& audit;
        EventLog& events;
        CurrentRules& rules;
        AccessRights& access;
        CallApprovals& approvals;
        Artifacts& artifacts;
        CallPath& calls;
        Turns& turns;
    };
    explicit DeviceFronts(const Uses& uses) : uses_(uses) {}
    ~DeviceFronts() override { uses_.context.registry.set_absent(nullptr); }

    std::string_view name() const override { return "devices"; }
    std::span<const ConfigKey> keys() const override;
    Result<void> start() override;
    Result<Change> prepare(const config::GatewayConfig& next) override;
    void add_metrics(core::MetricsPage& page) override;
    void add_routes(const ListenerRoutes& table) override;

    clawseed::Hub& hub() { return *hub_; }
    /// The front of the event loop with that index.
    clawseed::Front& front(std::size_t i) { return *fronts_[i]; }
    /// Data for status answers; the public listener sets its port before it serves.
    clawseed::StatusFacts& facts() { return facts_; }

private:
    void make_hub();
    void append_metrics(std::string& out) const;

    const Uses uses_;
    clawseed::StatusFacts facts_;
    std::unique_ptr<clawseed::Hub> hub_;
    std::vector<std::unique_ptr<clawseed::Front>> fronts_;
};

}  // namespace crab::gateway
