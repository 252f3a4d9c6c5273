#include "gateway/configured_stores.hpp"

#include "base/process/file.hpp"
#include "console/session_store.hpp"
#include "core/approvals/approval_store.hpp"
#include "core/chat/chat_session_store.hpp"
#include "core/events/event_store.hpp"
#include "core/events/event_turn_store.hpp"
#include "core/ledger/call_task_store.hpp"
#include "core/ledger/ledger_store.hpp"
#include "hosts/cron/cron_store.hpp"
#include "hosts/memory/memory_store.hpp"
#include "store/sqlite/stores_sqlite.hpp"
#include "trust/device_tool_store.hpp"
#include "trust/lease_store.hpp"
#include "trust/pairing/peer_store.hpp"
#include "trust/pin_store.hpp"
#include "trust/token_store.hpp"
#ifdef CRAB_POSTGRES
#include "store/postgres/stores_postgres.hpp"
#endif

#include <string>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

using OpenedStores = Result<std::unique_ptr<store::Stores>>;

#ifdef CRAB_POSTGRES
OpenedStores open_database(const config::FleetOptions& fleet, const std::string& node_name) {
    constexpr std::size_t kMostDsnBytes = 4096;
    auto dsn = read_file(fleet.dsn_file, kMostDsnBytes);
    if (!dsn)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("fleet.postgres.dsn_file: {}", dsn.error().message));
    dsn->erase(dsn->find_last_not_of(" \t\r\n") + 1);
    auto opened = store::postgres::StoresPostgres::open({.database = {.dsn = std::move(*dsn)},
                                                         .fleet = fleet.name,
                                                         .node = 1,
                                                         .node_name = node_name,
                                                         .is_alone = true,
                                                         .require_sync = fleet.require_sync});
    if (!opened) return fail(std::move(opened.error()));
    return std::unique_ptr<store::Stores>(std::move(*opened));
}
#else
OpenedStores open_database(const config::FleetOptions&, const std::string&) {
    return fail(ErrorCode::kInvalidArgs,
                "fleet: this crab was built without PostgreSQL; build it with libpq, or remove the "
                "section");
}
#endif

}  // namespace

/// Components open their stores one after the other, while the gateway starts.
Result<store::Stores*> ConfiguredStores::chosen() {
    if (stores_ == nullptr && config_.fleet) {
        auto opened = open_database(*config_.fleet, config_.gateway.name);
        if (!opened) return fail(std::move(opened.error()));
        stores_ = std::move(*opened);
    }
    if (stores_ == nullptr)
        stores_ = std::make_unique<store::sqlite::StoresSqlite>(paths_.state_dir);
    return stores_.get();
}

template <class Open>
auto ConfiguredStores::with(Open open) -> decltype(open(std::declval<store::Stores&>())) {
    const auto stores = chosen();
    if (!stores) return fail(stores.error());
    return open(**stores);
}

Result<std::unique_ptr<trust::TokenStore>> ConfiguredStores::open_tokens() {
    return with([](store::Stores& stores) { return stores.open_tokens(); });
}

Result<std::unique_ptr<trust::PeerStore>> ConfiguredStores::open_peers() {
    return with([](store::Stores& stores) { return stores.open_peers(); });
}

Result<std::unique_ptr<trust::LeaseStore>> ConfiguredStores::open_leases() {
    return with([](store::Stores& stores) { return stores.open_leases(); });
}

Result<std::unique_ptr<trust::DeviceToolStore>> ConfiguredStores::open_device_tools() {
    return with([](store::Stores& stores) { return stores.open_device_tools(); });
}

Result<std::unique_ptr<trust::PinStore>> ConfiguredStores::open_pins() {
    return with([](store::Stores& stores) { return stores.open_pins(); });
}

Result<std::unique_ptr<core::ApprovalStore>> ConfiguredStores::open_approvals() {
    return with([](store::Stores& stores) { return stores.open_approvals(); });
}

Result<std::unique_ptr<core::LedgerStore>> ConfiguredStores::open_ledger() {
    return with([](store::Stores& stores) { return stores.open_ledger(); });
}

Result<std::unique_ptr<core::CallTaskStore>> ConfiguredStores::open_call_tasks() {
    return with([](store::Stores& stores) { return stores.open_call_tasks(); });
}

Result<std::unique_ptr<core::EventTurnStore>> ConfiguredStores::open_event_turns() {
    return with([](store::Stores& stores) { return stores.open_event_turns(); });
}

Result<std::unique_ptr<core::EventStore>> ConfiguredStores::open_events() {
    return with([](store::Stores& stores) { return stores.open_events(); });
}

Result<std::unique_ptr<cron::CronStore>> ConfiguredStores::open_cron() {
    return with([](store::Stores& stores) { return stores.open_cron(); });
}

Result<std::unique_ptr<core::ChatSessionStore>> ConfiguredStores::open_chats() {
    return with([](store::Stores& stores) { return stores.open_chats(); });
}

Result<std::unique_ptr<core::ArtifactStore>> ConfiguredStores::open_artifacts(
    const core::ArtifactStore::Limits& limits, const Clock& clock) {
    return with([&](store::Stores& stores) { return stores.open_artifacts(limits, clock); });
}

Result<std::unique_ptr<memory::MemoryStore>> ConfiguredStores::open_memory() {
    return with([](store::Stores& stores) { return stores.open_memory(); });
}

Result<std::unique_ptr<console::SessionStore>> ConfiguredStores::open_console_sessions() {
    return with([](store::Stores& stores) { return stores.open_console_sessions(); });
}

}  // namespace crab::gateway
