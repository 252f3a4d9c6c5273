#include "store/sqlite/stores_sqlite.hpp"

#include "store/sqlite/approval_store_sqlite.hpp"
#include "store/sqlite/artifact_store_sqlite.hpp"
#include "store/sqlite/call_task_store_sqlite.hpp"
#include "store/sqlite/chat_session_store_sqlite.hpp"
#include "store/sqlite/console_session_store_sqlite.hpp"
#include "store/sqlite/cron_store_sqlite.hpp"
#include "store/sqlite/device_tool_store_sqlite.hpp"
#include "store/sqlite/event_store_sqlite.hpp"
#include "store/sqlite/event_turn_store_sqlite.hpp"
#include "store/sqlite/lease_store_sqlite.hpp"
#include "store/sqlite/ledger_store_sqlite.hpp"
#include "store/sqlite/memory_store_sqlite.hpp"
#include "store/sqlite/passkey_store_sqlite.hpp"
#include "store/sqlite/peer_store_sqlite.hpp"
#include "store/sqlite/pin_store_sqlite.hpp"
#include "store/sqlite/push_subscription_store_sqlite.hpp"
#include "store/sqlite/token_store_sqlite.hpp"

namespace crab::store::sqlite {
namespace {

const DatabaseOptions kChecked{.check = StartCheck::kNone};

}  // namespace

std::vector<std::string> StoresSqlite::files_in(const std::filesystem::path& folder) {
    std::vector<std::string> found;
    for (const char* name : {"trust.db", "ledger.db", "tasks.db", "events.db", "agents.db",
                             "sessions.db", "memory.db", "cron.db"}) {
        std::error_code error;
        if (std::filesystem::exists(folder / name, error)) found.emplace_back(name);
    }
    return found;
}

Result<std::unique_ptr<trust::TokenStore>> StoresSqlite::open_tokens() {
    return TokenStoreSqlite::open(trust());
}

Result<std::unique_ptr<trust::PeerStore>> StoresSqlite::open_peers() {
    return PeerStoreSqlite::open(trust(), kChecked);
}

Result<std::unique_ptr<trust::LeaseStore>> StoresSqlite::open_leases() {
    return LeaseStoreSqlite::open(trust(), kChecked);
}

Result<std::unique_ptr<trust::DeviceToolStore>> StoresSqlite::open_device_tools() {
    return DeviceToolStoreSqlite::open(trust(), kChecked);
}

Result<std::unique_ptr<trust::PinStore>> StoresSqlite::open_pins() {
    return PinStoreSqlite::open(trust(), kChecked);
}

Result<std::unique_ptr<core::ApprovalStore>> StoresSqlite::open_approvals() {
    return ApprovalStoreSqlite::open(trust(), kChecked);
}

Result<std::unique_ptr<core::LedgerStore>> StoresSqlite::open_ledger() {
    return LedgerStoreSqlite::open(folder_ / "ledger.db");
}

Result<std::unique_ptr<core::CallTaskStore>> StoresSqlite::open_call_tasks() {
    return CallTaskStoreSqlite::open(folder_ / "tasks.db");
}

Result<std::unique_ptr<core::EventStore>> StoresSqlite::open_events() {
    return EventStoreSqlite::open(folder_ / "events.db");
}

Result<std::unique_ptr<core::EventTurnStore>> StoresSqlite::open_event_turns() {
    return EventTurnStoreSqlite::open(folder_ / "agents.db");
}

Result<std::unique_ptr<core::ChatSessionStore>> StoresSqlite::open_chats() {
    return ChatSessionStoreSqlite::open(folder_ / "sessions.db");
}

Result<std::unique_ptr<core::ArtifactStore>> StoresSqlite::open_artifacts(
    const core::ArtifactStore::Limits& limits, const Clock& clock) {
    return ArtifactStoreSqlite::open(folder_ / "artifacts", limits, clock);
}

Result<std::unique_ptr<memory::MemoryStore>> StoresSqlite::open_memory() {
    return MemoryStoreSqlite::open(folder_ / "memory.db");
}

Result<std::unique_ptr<cron::CronStore>> StoresSqlite::open_cron() {
    return CronStoreSqlite::open(folder_ / "cron.db");
}

Result<std::unique_ptr<console::SessionStore>> StoresSqlite::open_console_sessions() {
    return ConsoleSessionStoreSqlite::open(trust(), kChecked);
}

Result<std::unique_ptr<console::PasskeyStore>> StoresSqlite::open_passkeys() {
    return PasskeyStoreSqlite::open(trust(), kChecked);
}

Result<std::unique_ptr<push::SubscriptionStore>> StoresSqlite::open_push_subscriptions() {
    return PushSubscriptionStoreSqlite::open(trust(), kChecked);
}

}  // namespace crab::store::sqlite
