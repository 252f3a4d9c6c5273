#include "store/sqlite/ledger_file.hpp"

#include "base/log.hpp"
#include "core/call_record.hpp"

namespace crab::store::sqlite {

Result<std::unique_ptr<LedgerStoreSqlite>> open_ledger(const std::filesystem::path& file, core::AuditStore& audit, const Clock& clock) {
    auto opened = LedgerStoreSqlite::open(file);
    if (!opened) return fail(std::move(opened.error()));
    const auto tell = [&](std::string_view record) -> Result<void> {
        if (const auto id = core::call_id_of(record)) {
            const auto found = audit.find_call(*id, clock.system_now() - std::chrono::hours(24));
            if (!found) return fail(found.error());
            if (*found) return {};
        }
        return audit.append({.first = clock.system_now(), .last = clock.system_now(), .count = 1, .records = std::string(record)});
    };
    const auto open = (*opened)->tell_unfinished(tell);
    if (!open) return fail(open.error());
    if (*open > 0) log::warn("calls were running when this process stopped; their outcome is unknown", {{"calls", *open}});
    return std::move(*opened);
}

}  // namespace crab::store::sqlite
