#include "store/sqlite/state_check.hpp"

#include "store/sqlite/approval_store_sqlite.hpp"
#include "store/sqlite/artifact_store_sqlite.hpp"
#include "store/sqlite/audit_store_sqlite.hpp"
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

#include <string_view>

#include <fmt/format.h>

namespace crab::store::sqlite {
namespace {

namespace fs = std::filesystem;
using Check = Result<void> (*)(const fs::path&);

template <class Store>
Result<void> opens(const fs::path& file) {
    const auto store = Store::open(file);
    return store ? Result<void>() : fail(store.error());
}

Result<void> opens_artifacts(const fs::path& file) {
    const RealClock clock;
    const auto store = ArtifactStoreSqlite::open(file.parent_path(), {}, clock);
    return store ? Result<void>() : fail(store.error());
}

struct StoreOfFile {
    std::string_view file;
    Check check;
};
constexpr StoreOfFile kStores[] = {
    {"trust.db", opens<TokenStoreSqlite>},
    {"trust.db", opens<PeerStoreSqlite>},
    {"trust.db", opens<LeaseStoreSqlite>},
    {"trust.db", opens<DeviceToolStoreSqlite>},
    {"trust.db", opens<PinStoreSqlite>},
    {"trust.db", opens<ApprovalStoreSqlite>},
    {"trust.db", opens<ConsoleSessionStoreSqlite>},
    {"trust.db", opens<PasskeyStoreSqlite>},
    {"trust.db", opens<PushSubscriptionStoreSqlite>},
    {"ledger.db", opens<LedgerStoreSqlite>},
    {"tasks.db", opens<CallTaskStoreSqlite>},
    {"events.db", opens<EventStoreSqlite>},
    {"agents.db", opens<EventTurnStoreSqlite>},
    {"sessions.db", opens<ChatSessionStoreSqlite>},
    {"audit.db", opens<AuditStoreSqlite>},
    {"memory.db", opens<MemoryStoreSqlite>},
    {"cron.db", opens<CronStoreSqlite>},
    {"index.db", opens_artifacts},
};

}  // namespace

Result<std::size_t> check_state(const fs::path& folder) {
    std::size_t files = 0;
    std::error_code problem;
    for (fs::recursive_directory_iterator at(folder, problem), end; !problem && at != end;
         at.increment(problem)) {
        const fs::path file = at->path();
        if (file.extension() != ".db" || !at->is_regular_file(problem)) continue;
        ++files;
        bool known = false;
        for (const StoreOfFile& store : kStores) {
            if (file.filename() != store.file) continue;
            known = true;
            if (auto good = store.check(file); !good) return fail(std::move(good.error()));
        }
        if (known) continue;
        if (const auto opened = Database::open(file); !opened) return fail(opened.error());
    }
    if (problem)
        return fail(ErrorCode::kUnavailable,
                    fmt::format("{}: {}", folder.native(), problem.message()));
    return files;
}

}  // namespace crab::store::sqlite
