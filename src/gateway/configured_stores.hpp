#pragma once

#include "gateway/gateway_context.hpp"
#include "store/stores.hpp"

#include <memory>
#include <utility>

namespace crab::gateway {

/// The stores of the engine that the configuration names: files in the state folder, or with
/// `fleet` the database, which is connected to when the first store is opened.
class ConfiguredStores final : public store::Stores {
public:
    /// Both outlive it.
    ConfiguredStores(const config::GatewayConfig& config, const GatewayPaths& paths)
        : config_(config), paths_(paths) {}

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

private:
    template <class Open>
    auto with(Open open) -> decltype(open(std::declval<store::Stores&>()));
    Result<store::Stores*> chosen();

    const config::GatewayConfig& config_;
    const GatewayPaths& paths_;
    std::unique_ptr<store::Stores> stores_;
};

}  // namespace crab::gateway
