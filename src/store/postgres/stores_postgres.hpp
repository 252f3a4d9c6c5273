#pragma once

#include "store/postgres/connection.hpp"
#include "store/postgres/cron_store_postgres.hpp"
#include "store/postgres/node_claim.hpp"
#include "store/stores.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace crab::fleet {
class ChangeTable;
class LinkTable;
class NodeTable;
}  // namespace crab::fleet
namespace crab::trust {
class SharedTrust;
}

namespace crab::store::postgres {

/// All that a gateway keeps, in the database of a fleet; each store has a connection of its own,
/// events and artifacts have two, memory three.
class StoresPostgres final : public Stores {
public:
    struct Options {
        ConnectionOptions database;
        std::string fleet;  ///< name of the fleet that the database belongs to
        std::int16_t node = 1;  ///< number of this process in the fleet
        std::string node_name;
        /// No other process that says so has the database open while this object lives. Should its
        /// session break, the next one to start is let in; the ledger refuses the former one then.
        bool is_alone = false;
        /// Of a fleet: others of other names have the database open too, one of this name does not.
        /// `node` is set then, by the name.
        bool is_node = false;
        /// As a node of a fleet: under which incarnation it writes; called later
        std::function<NodeClaim()> self{};
        /// A store of TrustStores, or what open_shared_trust() opens, has changed something: other
        /// nodes are told. Any thread; it only posts.
        std::function<void()> trust_changed{};
        bool require_sync = false;  ///< refuse a server that does not wait for a standby
    };
    /// Brings the schema up to date. Errors: those of Connection; kConflict for another fleet's
    /// database, for one that is in use, for one that has what nodes keep elsewhere, and for a
    /// server without standbys; kInternal for a newer schema.
    static Result<std::unique_ptr<StoresPostgres>> open(Options options);

    /// Number of this process in the fleet.
    std::int16_t node() const { return options_.node; }
    /// As the process of a node that others share events, their turns and cron jobs with: for the
    /// stores of these that are opened from here on. `event_of`: as CronStorePostgres has it.
    void share_work(std::int64_t boot, CronStorePostgres::EventOf event_of);
    /// As a node that starts. Errors: kConflict for keys that are not those of nodes that run.
    Result<void> agree_on_keys(std::span<const std::string> names);
    std::unique_ptr<fleet::NodeTable> open_nodes();
    std::unique_ptr<fleet::LinkTable> open_links();
    std::unique_ptr<fleet::ChangeTable> open_changes();
    std::unique_ptr<trust::SharedTrust> open_shared_trust();
    /// The ledger of a node of a fleet, which has claimed its incarnation itself.
    std::unique_ptr<core::LedgerStore> open_ledger_of(NodeRights rights);

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
    Result<std::unique_ptr<core::ArtifactStore>> open_artifacts(
        const core::ArtifactStore::Limits& limits, const Clock& clock) override;
    Result<std::unique_ptr<memory::MemoryStore>> open_memory() override;
    Result<std::unique_ptr<console::SessionStore>> open_console_sessions() override;
    Result<std::unique_ptr<console::PasskeyStore>> open_passkeys() override;
    Result<std::unique_ptr<push::SubscriptionStore>> open_push_subscriptions() override;

private:
    StoresPostgres(Options options, std::unique_ptr<Connection> guard)
        : options_(std::move(options)), guard_(std::move(guard)) {}

    ConnectionOptions of_trust() const;

    const Options options_;
    std::optional<NodeProcess> process_;  ///< that shares work
    CronStorePostgres::EventOf event_of_;
    const std::unique_ptr<Connection>
        guard_;  ///< its session holds the lock of a process that is alone
};

}  // namespace crab::store::postgres
