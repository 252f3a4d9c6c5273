#include "store/postgres/approval_store_postgres.hpp"

#include <fmt/format.h>

namespace crab::store::postgres {
namespace {

using core::RememberedApproval;

Result<RememberedApproval> approval_of(const Rows::Row& row) {
    const auto network = core::find_network(row.text_view(8));
    const auto privilege = core::find_privilege(row.text_view(9));
    if (!network || !privilege)
        return fail(ErrorCode::kInternal,
                    fmt::format("approval {} is stored with unknown labels", row.text(0)));
    return RememberedApproval{.id = row.text(0),
                              .allow = row.boolean(1),
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

Result<std::vector<RememberedApproval>> ApprovalStorePostgres::load() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT id, allow, tenant, principal, tool, source, place, rule, network, privilege, "
        "decided_by, decided_ms FROM approval ORDER BY decided_ms, id COLLATE \"C\"");
    if (!rows) return fail(std::move(rows.error()));
    std::vector<RememberedApproval> kept;
    for (const auto row : *rows) {
        auto decision = approval_of(row);
        if (!decision) return fail(std::move(decision.error()));
        kept.push_back(std::move(*decision));
    }
    return kept;
}

Result<void> ApprovalStorePostgres::keep(const RememberedApproval& decision,
                                         const std::vector<std::string>& instead) {
    Array replaced;
    for (const std::string& id : instead) replaced.add(id);
    replaced.add(decision.id);
    const core::ApprovalSubject& subject = decision.subject;
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        if (auto gone = database_.run("DELETE FROM approval WHERE id = ANY ($1::text[])", replaced);
            !gone)
            return gone;
        return database_.run(
            "INSERT INTO approval (id, allow, tenant, principal, tool, source, place, rule, "
            "network, privilege, decided_by, decided_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, "
            "$9, $10, $11, $12)",
            decision.id, decision.allow, subject.tenant, subject.principal, subject.tool,
            subject.source, subject.place, subject.rule, core::name_of(subject.network),
            core::name_of(subject.privilege), decision.by, decision.at);
    });
}

Result<void> ApprovalStorePostgres::forget(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    return database_.run("DELETE FROM approval WHERE id = $1", id);
}

}  // namespace crab::store::postgres
