#include "store/postgres/stores_postgres.hpp"

#include "store/postgres/approval_store_postgres.hpp"
#include "store/postgres/call_task_store_postgres.hpp"
#include "store/postgres/chat_session_store_postgres.hpp"
#include "store/postgres/cron_store_postgres.hpp"
#include "store/postgres/device_tool_store_postgres.hpp"
#include "store/postgres/event_store_postgres.hpp"
#include "store/postgres/event_turn_store_postgres.hpp"
#include "store/postgres/lease_store_postgres.hpp"
#include "store/postgres/ledger_store_postgres.hpp"
#include "store/postgres/peer_store_postgres.hpp"
#include "store/postgres/pin_store_postgres.hpp"
#include "store/postgres/schema.hpp"
#include "store/postgres/token_store_postgres.hpp"

namespace crab::store::postgres {

Result<std::unique_ptr<StoresPostgres>> StoresPostgres::open(Options options) {
    Connection database(options.database);
    if (auto migrated = migrate(database, options.fleet); !migrated)
        return fail(std::move(migrated.error()));
    return std::unique_ptr<StoresPostgres>(new StoresPostgres(std::move(options)));
}

Result<std::unique_ptr<core::LedgerStore>> StoresPostgres::open_ledger() {
    return LedgerStorePostgres::open(options_.database, options_.node, options_.node_name);
}

Result<std::unique_ptr<trust::TokenStore>> StoresPostgres::open_tokens() {
    return std::make_unique<TokenStorePostgres>(options_.database);
}

Result<std::unique_ptr<trust::PeerStore>> StoresPostgres::open_peers() {
    return std::make_unique<PeerStorePostgres>(options_.database);
}

Result<std::unique_ptr<trust::LeaseStore>> StoresPostgres::open_leases() {
    return std::make_unique<LeaseStorePostgres>(options_.database);
}

Result<std::unique_ptr<trust::DeviceToolStore>> StoresPostgres::open_device_tools() {
    return std::make_unique<DeviceToolStorePostgres>(options_.database);
}

Result<std::unique_ptr<trust::PinStore>> StoresPostgres::open_pins() {
    return std::make_unique<PinStorePostgres>(options_.database);
}

Result<std::unique_ptr<core::ApprovalStore>> StoresPostgres::open_approvals() {
    return std::make_unique<ApprovalStorePostgres>(options_.database);
}

Result<std::unique_ptr<core::CallTaskStore>> StoresPostgres::open_call_tasks() {
    return std::make_unique<CallTaskStorePostgres>(options_.database);
}

Result<std::unique_ptr<core::EventTurnStore>> StoresPostgres::open_event_turns() {
    return std::make_unique<EventTurnStorePostgres>(options_.database);
}

Result<std::unique_ptr<core::EventStore>> StoresPostgres::open_events() {
    return std::make_unique<EventStorePostgres>(options_.database);
}

Result<std::unique_ptr<cron::CronStore>> StoresPostgres::open_cron() {
    return std::make_unique<CronStorePostgres>(options_.database);
}

Result<std::unique_ptr<core::ChatSessionStore>> StoresPostgres::open_chats() {
    return std::make_unique<ChatSessionStorePostgres>(options_.database);
}

}  // namespace crab::store::postgres
