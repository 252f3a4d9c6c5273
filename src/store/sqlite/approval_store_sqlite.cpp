#include "store/sqlite/approval_store_sqlite.hpp"

#include <array>

#include <fmt/format.h>

namespace crab::store::sqlite {
namespace {

using core::RememberedApproval;

constexpr std::array<std::string_view, 1> kApprovalSchema{R"(
    CREATE TABLE approvals (
        approval_id TEXT PRIMARY KEY,
        allow INTEGER NOT NULL,
        tenant_id TEXT NOT NULL,
        principal TEXT NOT NULL,
        tool TEXT NOT NULL,
        source TEXT NOT NULL,
        place TEXT NOT NULL,
        rule TEXT NOT NULL,
        network TEXT NOT NULL,
        privilege TEXT NOT NULL,
        decided_by TEXT NOT NULL,
        decided_ms INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
)"};

constexpr std::string_view kApprovalColumns =
    "approval_id, allow, tenant_id, principal, tool, source, place, rule, network, privilege, "
    "decided_by, decided_ms";

/// From the columns kApprovalColumns, which begin at 0.
Result<RememberedApproval> approval_of(const Statement& row) {
    const auto network = core::find_network(row.text_view(8));
    const auto privilege = core::find_privilege(row.text_view(9));
    if (!network || !privilege)
        return fail(ErrorCode::kInternal,
                    fmt::format("approval {} is stored with unknown labels", row.text(0)));
    return RememberedApproval{.id = row.text(0),
                              .allow = row.integer(1) != 0,
                              .scope = core::ApprovalScope::kAlways,
                              .subject = {.tenant = row.text(2),
                                          .principal = row.text(3),
                                          .tool = row.text(4),
                                          .source = row.text(5),
                                          .place = row.text(6),
                                          .rule = row.text(7),
                                          .session = {},
                                          .network = *network,
                                          .privilege = *privilege,
                                          .content = {}},
                              .by = row.text(10),
                              .at = row.time(11),
                              .until = {}};
}

}  // namespace

Result<std::unique_ptr<ApprovalStoreSqlite>> ApprovalStoreSqlite::open(
    const std::filesystem::path& path, DatabaseOptions options) {
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto migrated = database->migrate("approvals", kApprovalSchema); !migrated)
        return fail(std::move(migrated.error()));
    return std::unique_ptr<ApprovalStoreSqlite>(new ApprovalStoreSqlite(std::move(*database)));
}

Result<std::vector<RememberedApproval>> ApprovalStoreSqlite::load() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        fmt::format("SELECT {} FROM approvals ORDER BY decided_ms, approval_id", kApprovalColumns));
    if (!rows) return fail(std::move(rows.error()));
    std::vector<RememberedApproval> kept;
    for (;;) {
        const auto more = rows->step();
        if (!more) return fail(more.error());
        if (!*more) return kept;
        auto decision = approval_of(*rows);
        if (!decision) return fail(std::move(decision.error()));
        kept.push_back(std::move(*decision));
    }
}

Result<void> ApprovalStoreSqlite::keep(const RememberedApproval& decision,
                                       const std::vector<std::string>& instead) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        for (const std::string& id : instead) {
            if (auto done = database_.run("DELETE FROM approvals WHERE approval_id = ?", id); !done)
                return done;
        }
        const core::ApprovalSubject& subject = decision.subject;
        return database_.run(
            fmt::format(
                "INSERT OR REPLACE INTO approvals ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                kApprovalColumns),
            decision.id, std::int64_t{decision.allow}, subject.tenant, subject.principal,
            subject.tool, subject.source, subject.place, subject.rule,
            core::name_of(subject.network), core::name_of(subject.privilege), decision.by,
            decision.at);
    });
}

Result<void> ApprovalStoreSqlite::forget(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    return database_.run("DELETE FROM approvals WHERE approval_id = ?", id);
}

}  // namespace crab::store::sqlite
