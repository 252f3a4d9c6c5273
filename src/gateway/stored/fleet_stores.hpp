#pragma once

#include "store/stores.hpp"

#include <functional>
#include <memory>

namespace crab::gateway {

/// The stores of a node of a fleet: tokens, peers, leases, what operators have decided for good,
/// chats, the ledger, artifacts, memories, events with the turns that they start, and cron jobs are
/// the fleet's, in its database. All else is the node's own, in its state folder: tasks of MCP, and
/// what the console keeps of browsers.
class FleetStores final : public store::Stores {
public:
    using OpenLedger = std::function<std::unique_ptr<core::LedgerStore>()>;
    FleetStores(std::unique_ptr<store::Stores> of_fleet, std::unique_ptr<store::Stores> own,
                OpenLedger open_ledger);
    ~FleetStores() override;

    Result<std::unique_ptr<trust::TokenStore>> open_tokens() override;
    Result<std::unique_ptr<trust::PeerStore>> open_peers() override;
    Result<std::unique_ptr<trust::LeaseStore>> open_leases() override;
    Result<std::unique_ptr<trust::DeviceToolStore>> open_device_tools() override;
    Result<std::unique_ptr<trust::PinStore>> open_pins() override;
    Result<std::unique_ptr<core::ApprovalStore>> open_approvals() override;
    Result<std::unique_ptr<core::LedgerStore>> open_ledger() override;
    Result<std::unique_ptr<core::CallTaskStore>> open_call_tasks() override;
    Result<std::unique_ptr<core::EventTurnStore>> open_event_turns() override;
    Result<std::unique_ptr<core::EventStore>> open_events() override;
    Result<std::unique_ptr<cron::CronStore>> open_cron() override;
    Result<std::unique_ptr<core::ChatSessionStore>> open_chats() override;
    Result<std::unique_ptr<core::ArtifactStore>> open_artifacts(
        const core::ArtifactStore::Limits& limits, const Clock& clock) override;
    Result<std::unique_ptr<memory::MemoryStore>> open_memory() override;
    Result<std::unique_ptr<console::SessionStore>> open_console_sessions() override;
    Result<std::unique_ptr<console::PasskeyStore>> open_passkeys() override;
    Result<std::unique_ptr<push::SubscriptionStore>> open_push_subscriptions() override;

private:
    const std::unique_ptr<store::Stores> of_fleet_, own_;
    const OpenLedger open_ledger_;
};

}  // namespace crab::gateway
