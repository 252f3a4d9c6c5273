#include "store/postgres/stores_postgres.hpp"

#include "store/postgres/approval_store_postgres.hpp"
#include "store/postgres/artifact_store_postgres.hpp"
#include "store/postgres/call_task_store_postgres.hpp"
#include "store/postgres/change_table_postgres.hpp"
#include "store/postgres/chat_session_store_postgres.hpp"
#include "store/postgres/console_session_store_postgres.hpp"
#include "store/postgres/device_tool_store_postgres.hpp"
#include "store/postgres/event_store_postgres.hpp"
#include "store/postgres/event_turn_store_postgres.hpp"
#include "store/postgres/lease_store_postgres.hpp"
#include "store/postgres/ledger_store_postgres.hpp"
#include "store/postgres/link_table_postgres.hpp"
#include "store/postgres/memory_store_postgres.hpp"
#include "store/postgres/node_keys.hpp"
#include "store/postgres/node_table_postgres.hpp"
#include "store/postgres/passkey_store_postgres.hpp"
#include "store/postgres/peer_store_postgres.hpp"
#include "store/postgres/pin_store_postgres.hpp"
#include "store/postgres/push_subscription_store_postgres.hpp"
#include "store/postgres/schema.hpp"
#include "store/postgres/shared_trust_postgres.hpp"
#include "store/postgres/token_store_postgres.hpp"

#include <fmt/format.h>

namespace crab::store::postgres {

namespace {

/// Of the advisory lock of a process that is alone in a database.
constexpr std::int64_t kAloneLock = 0x63726162616c6f6e;

Result<void> expect_standbys(Connection& database) {
    auto rows = database.query(
        "SELECT current_setting('synchronous_standby_names') <> '' AND "
        "current_setting('synchronous_commit') IN ('on', 'remote_apply')");
    if (!rows) return fail(std::move(rows.error()));
    if ((*rows)[0].boolean(0)) return {};
    return fail(ErrorCode::kConflict,
                "the database does not wait for a standby: set synchronous_standby_names there, or "
                "fleet.postgres.require_sync: false if losing its disk may lose what was done");
}

/// A process that was killed keeps its session for a moment.
Result<void> lock_out_others(Connection& database) {
    if (auto set = database.execute("SET lock_timeout = '4s'"); !set) return set;
    auto locked = database.run("SELECT pg_advisory_lock($1)", kAloneLock);
    if (!locked && !database.is_lost())
        return fail(ErrorCode::kConflict,
                    "another gateway uses the database: stop it, or give this one its own");
    return locked;
}

/// Keeps out who wants to be alone, and another process of this name.
Result<void> lock_as_node(Connection& database, std::string_view name) {
    if (auto set = database.execute("SET lock_timeout = '4s'"); !set) return set;
    auto locked = database.run("SELECT pg_advisory_lock_shared($1)", kAloneLock);
    if (!locked && !database.is_lost())
        return fail(ErrorCode::kConflict,
                    "a gateway that is in no fleet uses the database: stop it, or give it "
                    "fleet.nats too");
    if (!locked) return locked;
    locked = database.run("SELECT pg_advisory_lock($1, hashtext($2))", kNodeLock, name);
    if (!locked && !database.is_lost())
        return fail(ErrorCode::kConflict,
                    fmt::format("a node of the name {} runs in this fleet: stop it, or give this "
                                "one another fleet.node_name",
                                name));
    return locked;
}

/// What nodes keep in files of their own is in the database of a gateway that was in no fleet.
Result<void> expect_nothing_shadowed(Connection& database) {
    for (const char* table : {"call_task", "console_passkey"}) {
        auto rows = database.query(fmt::format("SELECT EXISTS (SELECT FROM {})", table));
        if (!rows) return fail(std::move(rows.error()));
        if (!(*rows)[0].boolean(0)) continue;
        return fail(ErrorCode::kConflict,
                    fmt::format("the database has what a gateway without fleet.nats has kept in "
                                "the table {}: nodes keep that in files of their own and would not "
                                "read it. Give the fleet a database of its own, or empty the table",
                                table));
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<StoresPostgres>> StoresPostgres::open(Options options) {
    auto guard = std::make_unique<Connection>(options.database);
    Connection& database = *guard;
    if (options.require_sync) {
        if (auto safe = expect_standbys(database); !safe) return fail(std::move(safe.error()));
    }
    if (options.is_alone) {
        if (auto alone = lock_out_others(database); !alone) return fail(std::move(alone.error()));
    }
    if (options.is_node) {
        if (auto locked = lock_as_node(database, options.node_name); !locked)
            return fail(std::move(locked.error()));
    }
    if (auto migrated = migrate(database, options.fleet); !migrated)
        return fail(std::move(migrated.error()));
    if (options.is_node) {
        if (auto free = expect_nothing_shadowed(database); !free)
            return fail(std::move(free.error()));
        const auto number = node_number(database, options.node_name);
        if (!number) return fail(number.error());
        options.node = *number;
    }
    return std::unique_ptr<StoresPostgres>(
        new StoresPostgres(std::move(options), std::move(guard)));
}

Result<void> StoresPostgres::agree_on_keys(std::span<const std::string> names) {
    return postgres::agree_on_keys(*guard_, options_.node, names);
}

void StoresPostgres::share_work(std::int64_t boot, CronStorePostgres::EventOf event_of) {
    process_ = {.number = options_.node, .boot = boot};
    event_of_ = std::move(event_of);
}

std::unique_ptr<fleet::NodeTable> StoresPostgres::open_nodes() {
    return std::make_unique<NodeTablePostgres>(options_.database);
}

std::unique_ptr<fleet::LinkTable> StoresPostgres::open_links() {
    return std::make_unique<LinkTablePostgres>(options_.database);
}

std::unique_ptr<fleet::ChangeTable> StoresPostgres::open_changes() {
    return std::make_unique<ChangeTablePostgres>(options_.database);
}

std::unique_ptr<trust::SharedTrust> StoresPostgres::open_shared_trust() {
    return std::make_unique<SharedTrustPostgres>(of_trust());
}

ConnectionOptions StoresPostgres::of_trust() const {
    ConnectionOptions options = options_.database;
    options.wrote = options_.trust_changed;
    return options;
}

std::unique_ptr<core::LedgerStore> StoresPostgres::open_ledger_of(NodeRights rights) {
    return std::make_unique<LedgerStorePostgres>(options_.database, std::move(rights));
}

Result<std::unique_ptr<core::LedgerStore>> StoresPostgres::open_ledger() {
    return LedgerStorePostgres::open(options_.database, options_.node, options_.node_name);
}

Result<std::unique_ptr<trust::TokenStore>> StoresPostgres::open_tokens() {
    return std::make_unique<TokenStorePostgres>(of_trust());
}

Result<std::unique_ptr<trust::PeerStore>> StoresPostgres::open_peers() {
    return std::make_unique<PeerStorePostgres>(of_trust());
}

Result<std::unique_ptr<trust::LeaseStore>> StoresPostgres::open_leases() {
    return std::make_unique<LeaseStorePostgres>(of_trust(), options_.self);
}

Result<std::unique_ptr<trust::DeviceToolStore>> StoresPostgres::open_device_tools() {
    return std::make_unique<DeviceToolStorePostgres>(of_trust());
}

Result<std::unique_ptr<trust::PinStore>> StoresPostgres::open_pins() {
    return std::make_unique<PinStorePostgres>(of_trust());
}

Result<std::unique_ptr<core::ApprovalStore>> StoresPostgres::open_approvals() {
    return std::make_unique<ApprovalStorePostgres>(of_trust());
}

Result<std::unique_ptr<core::CallTaskStore>> StoresPostgres::open_call_tasks() {
    return std::make_unique<CallTaskStorePostgres>(options_.database);
}

Result<std::unique_ptr<core::EventTurnStore>> StoresPostgres::open_event_turns() {
    return std::make_unique<EventTurnStorePostgres>(options_.database, process_);
}

Result<std::unique_ptr<core::EventStore>> StoresPostgres::open_events() {
    return std::make_unique<EventStorePostgres>(options_.database, process_);
}

Result<std::unique_ptr<cron::CronStore>> StoresPostgres::open_cron() {
    return std::make_unique<CronStorePostgres>(options_.database, event_of_);
}

Result<std::unique_ptr<core::ChatSessionStore>> StoresPostgres::open_chats() {
    return std::make_unique<ChatSessionStorePostgres>(options_.database, options_.self);
}

Result<std::unique_ptr<core::ArtifactStore>> StoresPostgres::open_artifacts(
    const core::ArtifactStore::Limits& limits, const Clock& clock) {
    return ArtifactStorePostgres::open(options_.database, options_.node, limits, clock);
}

Result<std::unique_ptr<memory::MemoryStore>> StoresPostgres::open_memory() {
    return MemoryStorePostgres::open(options_.database);
}

Result<std::unique_ptr<console::SessionStore>> StoresPostgres::open_console_sessions() {
    return std::make_unique<ConsoleSessionStorePostgres>(options_.database, options_.node);
}

Result<std::unique_ptr<console::PasskeyStore>> StoresPostgres::open_passkeys() {
    return std::make_unique<PasskeyStorePostgres>(options_.database);
}

Result<std::unique_ptr<push::SubscriptionStore>> StoresPostgres::open_push_subscriptions() {
    return std::make_unique<PushSubscriptionStorePostgres>(options_.database, options_.node);
}

}  // namespace crab::store::postgres
