#pragma once

#include "store/stores.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace crab::store::sqlite {

/// The stores of a state folder, a few to a file: `trust.db`, `ledger.db`, `tasks.db`, `events.db`,
/// `agents.db`, `sessions.db`, `memory.db`, `cron.db`, and the folder `artifacts`.
class StoresSqlite final : public Stores {
public:
    explicit StoresSqlite(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// Names of those files that are there, for who would keep all that elsewhere. Artifacts are
    /// always beside a ledger.
    static std::vector<std::string> files_in(const std::filesystem::path& folder);

    Result<std::unique_ptr<trust::TokenStore>> open_tokens() override;
    Result<std::unique_ptr<trust::PeerStore>> open_peers() override;
    Result<std::unique_ptr<trust::LeaseStore>> open_leases() override;
    Result<std::unique_ptr<trust::DeviceToolStore>> open_device_tools() override;
    Result<std::unique_ptr<trust::PinStore>> open_pins() override;
    Result<std::unique_ptr<core::ApprovalStore>> open_approvals() override;
    Result<std::unique_ptr<core::LedgerStore>> open_ledger() override;
    Result<std::unique_ptr<core::CallTaskStore>> open_call_tasks() override;
    Result<std::unique_ptr<core::EventStore>> open_events() override;
    Result<std::unique_ptr<core::EventTurnStore>> open_event_turns() override;
    Result<std::unique_ptr<core::ChatSessionStore>> open_chats() override;
    Result<std::unique_ptr<core::ArtifactStore>> open_artifacts(
        const core::ArtifactStore::Limits& limits, const Clock& clock) override;
    Result<std::unique_ptr<memory::MemoryStore>> open_memory() override;
    Result<std::unique_ptr<cron::CronStore>> open_cron() override;
    Result<std::unique_ptr<console::SessionStore>> open_console_sessions() override;
    Result<std::unique_ptr<console::PasskeyStore>> open_passkeys() override;
    Result<std::unique_ptr<push::SubscriptionStore>> open_push_subscriptions() override;

private:
    /// Opened by open_tokens() first, which has checked it
    std::filesystem::path trust() const { return folder_ / "trust.db"; }

    const std::filesystem::path folder_;
};

}  // namespace crab::store::sqlite
