#pragma once

#include "store/postgres/connection.hpp"
#include "store/stores.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace crab::store::postgres {

/// What is kept of trust, calls, events, cron and chats, in the database of a fleet; each store has
/// a connection of its own, events have two. (Artifacts and memory are not kept there yet.)
class StoresPostgres final : public TrustStores, public RecordStores {
public:
    struct Options {
        ConnectionOptions database;
        std::string fleet;  ///< name of the fleet that the database belongs to
        std::int16_t node = 1;  ///< number of this process in the fleet
        std::string node_name;
    };
    /// Brings the schema up to date. Errors: those of Connection; kConflict for another fleet's
    /// database; kInternal for a newer schema.
    static Result<std::unique_ptr<StoresPostgres>> open(Options options);

    Result<std::unique_ptr<trust::TokenStore>> open_tokens() override;
    Result<std::unique_ptr<trust::PeerStore>> open_peers() override;
    Result<std::unique_ptr<trust::LeaseStore>> open_leases() override;
    Result<std::unique_ptr<trust::DeviceToolStore>> open_device_tools() override;
    Result<std::unique_ptr<trust::PinStore>> open_pins() override;
    Result<std::unique_ptr<core::ApprovalStore>> open_approvals() override;
    /// Claims the node's next incarnation.
    Result<std::unique_ptr<core::LedgerStore>> open_ledger() override;
    Result<std::unique_ptr<core::CallTaskStore>> open_call_tasks() override;
    Result<std::unique_ptr<core::EventTurnStore>> open_event_turns() override;
    Result<std::unique_ptr<core::EventStore>> open_events() override;
    Result<std::unique_ptr<cron::CronStore>> open_cron() override;
    Result<std::unique_ptr<core::ChatSessionStore>> open_chats() override;

private:
    explicit StoresPostgres(Options options) : options_(std::move(options)) {}

    const Options options_;
};

}  // namespace crab::store::postgres
