#include "store/sqlite/ledger_file.hpp"

#include "base/log.hpp"
#include "core/audit/call_record.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace crab::store::sqlite {

Result<OpenedLedger> open_ledger(const std::filesystem::path& file, core::AuditStore& audit,
                                 const Clock& clock) {
    auto store = LedgerStoreSqlite::open(file);
    if (!store) return fail(std::move(store.error()));
    auto unfinished = (*store)->unfinished();
    if (!unfinished) return fail(std::move(unfinished.error()));
    for (const core::UnfinishedCall& call : *unfinished) {
        if (call.record.empty()) continue;
        if (const auto id = core::call_id_of(call.record)) {
            const auto found = audit.find_call(*id, clock.system_now() - std::chrono::hours(24));
            if (!found) return fail(found.error());
            if (*found) continue;
        }
        const auto added = audit.append({.first = clock.system_now(),
                                         .last = clock.system_now(),
                                         .count = 1,
                                         .records = call.record});
        if (!added) return fail(added.error());
    }
    const auto open = std::ranges::count_if(
        *unfinished, [](const core::UnfinishedCall& call) { return call.outcome == nullptr; });
    if (open > 0)
        log::warn("calls were running when this process stopped; their outcome is unknown",
                  {{"calls", open}});
    return OpenedLedger{.store = std::move(*store), .unfinished = std::move(*unfinished)};
}

}  // namespace crab::store::sqlite
