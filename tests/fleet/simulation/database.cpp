#include "database.hpp"

#include <algorithm>
#include <variant>

namespace crab::fleet::simulation {
namespace {

using core::LedgerEntry;
using core::LedgerStatus;

std::unexpected<Error> away() {
    return fail(ErrorCode::kUnavailable, "database: the connection is lost");
}

}  // namespace

std::vector<LinkRow> Database::routes() const {
    std::map<std::string, LinkRow> newest;
    for (const LinkRow& link : links) {
        if (!lives(link.node)) continue;
        LinkRow& best = newest.try_emplace(link.slug, link).first->second;
        if (link.epoch > best.epoch) best = link;
    }
    std::vector<LinkRow> routes;
    for (const auto& [slug, link] : newest) routes.push_back(link);
    return routes;
}

Result<NodeName> NodeTableSimulated::begin(std::uint16_t number, std::uint32_t boot) {
    if (wire_.cut) return away();
    NodeRow& row = database_.nodes[number];
    row.name = {number, row.name.incarnation + 1};
    row.state = NodeState::kLive;
    row.boot = boot;
    ++row.beats;
    return row.name;
}

Result<bool> NodeTableSimulated::renew(NodeName self) {
    if (wire_.cut) return away();
    if (!database_.lives(self)) return false;
    ++database_.nodes[self.number].beats;
    return true;
}

Result<std::vector<NodeRow>> NodeTableSimulated::read() {
    if (wire_.cut) return away();
    std::vector<NodeRow> rows;
    for (const auto& [number, row] : database_.nodes) rows.push_back(row);
    return rows;
}

Result<bool> NodeTableSimulated::fence(NodeName other, std::uint64_t beats) {
    if (wire_.cut) return away();
    if (!database_.lives(other)) return false;
    NodeRow& row = database_.nodes[other.number];
    if (row.beats != beats) return false;
    row.state = NodeState::kFenced;
    return true;
}

Result<void> NodeTableSimulated::leave(NodeName self) {
    if (wire_.cut) return away();
    if (database_.lives(self)) database_.nodes[self.number].state = NodeState::kLeft;
    return {};
}

std::string LedgerStoreSimulated::key_of(const std::string& tenant, const std::string& principal,
                                         const std::string& key) {
    return tenant + '\n' + principal + '\n' + key;
}

std::vector<Result<LedgerEntry>> LedgerStoreSimulated::write(
    const std::vector<core::LedgerChange>& changes) {
    std::vector<Result<LedgerEntry>> answers;
    if (uses_.wire.cut) {
        for (const auto& change : changes)
            if (const auto* end = std::get_if<core::LedgerEnd>(&change)) tell_unstored(*end);
        answers.assign(changes.size(), away());
        return answers;
    }
    for (const core::LedgerRef ref : std::exchange(uncertain_, {}))
        apply(core::LedgerRelease{.ref = ref});
    // Releases first: an admission in one batch with the release of its key is to find it free.
    for (const auto& change : changes)
        if (const auto* release = std::get_if<core::LedgerRelease>(&change)) apply(*release);
    for (const auto& change : changes)
        answers.push_back(std::visit([this](const auto& one) { return apply(one); }, change));
    if (!std::exchange(uses_.wire.answer_lost, false)) return answers;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        const bool admitted = std::holds_alternative<core::LedgerAdmission>(changes[i]) &&
                              answers[i]->status == LedgerStatus::kAdmitted;
        if (admitted) uncertain_.push_back(answers[i]->ref);
        answers[i] = away();
    }
    return answers;
}

void LedgerStoreSimulated::tell_unstored(const core::LedgerEnd& end) const {
    if (!*end.outcome) return;
    for (const auto& [key, row] : uses_.database.calls)
        if (row.ref == end.ref)
            uses_.on_unstored(key.substr(key.rfind('\n') + 1), (*end.outcome)->content);
}

LedgerEntry LedgerStoreSimulated::entry_of(const Database::Row& row) const {
    LedgerEntry entry{.status = LedgerStatus::kOpen,
                      .ref = row.ref,
                      .content = row.content,
                      .tool = row.tool,
                      .source = row.source,
                      .side_effects = row.side_effects,
                      .may_run_again = row.may_run_again,
                      .outcome = {},
                      .admitted_at = row.admitted};
    const auto end = uses_.database.ends.find(row.ref.low);
    if (end != uses_.database.ends.end() && end->second.decision == Database::Decision::kResult) {
        entry.status = LedgerStatus::kFinished;
        entry.outcome = end->second.outcome;
        entry.duration = end->second.duration;
    }
    const bool over = uses_.database.without.silence || uses_.is_silent(row.owner);
    if (entry.status == LedgerStatus::kOpen && row.owner != uses_.self() && !over)
        entry.status = LedgerStatus::kRunning;
    return entry;
}

LedgerEntry LedgerStoreSimulated::apply(const core::LedgerAdmission& admission) {
    return decide(admission, key_of(admission.tenant, admission.principal, admission.key));
}

LedgerEntry LedgerStoreSimulated::decide(const core::LedgerAdmission& admission,
                                         const std::string& key) {
    Database& database = uses_.database;
    // Somebody fenced off is told that it is unknown: nothing is written.
    if (!database.without.fence && !database.lives(uses_.self()))
        return {.status = LedgerStatus::kRunning, .outcome = {}, .admitted_at = {}};
    const auto known = database.calls.find(key);
    if (known == database.calls.end()) return insert(admission, key);
    Database::Row& row = known->second;
    const auto end = database.ends.find(row.ref.low);
    const bool released =
        end != database.ends.end() && end->second.decision == Database::Decision::kNothing;
    if (released) return insert(admission, key);
    LedgerEntry entry = entry_of(row);
    if (row.content != admission.content) {
        entry.status = LedgerStatus::kConflict;
        return entry;
    }
    if (entry.status == LedgerStatus::kOpen && row.process != 0 &&
        row.process == admission.process) {
        row.owner = uses_.self();
        uses_.on_adopted(admission.key);
        entry.status = LedgerStatus::kAdmitted;
        entry.adopted = true;
        return entry;
    }
    if (entry.status != LedgerStatus::kOpen || !admission.may_run_again) return entry;
    if (!database.without.seal)
        database.ends.emplace(
            row.ref.low,
            Database::End{.decision = Database::Decision::kSuperseded, .outcome = nullptr});
    return insert(admission, key);
}

LedgerEntry LedgerStoreSimulated::insert(const core::LedgerAdmission& admission,
                                         const std::string& key) {
    Database& database = uses_.database;
    Database::Row& row = database.calls[key];
    row = {.ref = {.low = ++database.last_ref},
           .content = admission.content,
           .owner = uses_.self(),
           .may_run_again = admission.may_run_again,
           .side_effects = admission.side_effects,
           .process = admission.process,
           .tool = admission.tool,
           .source = admission.source,
           .admitted = admission.at};
    admitted_here_.insert(row.ref.low);
    uses_.on_commit(admission.key);
    LedgerEntry entry = entry_of(row);
    entry.status = LedgerStatus::kAdmitted;
    return entry;
}

LedgerEntry LedgerStoreSimulated::apply(const core::LedgerEnd& end) {
    const auto [stands, written] = uses_.database.ends.emplace(
        end.ref.low, Database::End{.decision = Database::Decision::kResult,
                                   .outcome = end.outcome,
                                   .duration = end.duration});
    const bool mine = written || stands->second.outcome == end.outcome;
    return {.status = mine ? LedgerStatus::kFinished : LedgerStatus::kOpen,
            .ref = end.ref,
            .outcome = {},
            .admitted_at = {}};
}

// By the process that has admitted it, while the row is its own, or if it may run again
// (docs/decisions/0028).
LedgerEntry LedgerStoreSimulated::apply(const core::LedgerRelease& release) {
    Database& database = uses_.database;
    const auto row = std::ranges::find_if(
        database.calls, [&](const auto& one) { return one.second.ref == release.ref; });
    const bool mine = row != database.calls.end() && row->second.owner == uses_.self() &&
                      (admitted_here_.contains(release.ref.low) || row->second.may_run_again);
    if (row != database.calls.end() && (mine || database.without.own_release))
        database.ends.emplace(
            release.ref.low,
            Database::End{.decision = Database::Decision::kNothing, .outcome = nullptr});
    return {
        .status = LedgerStatus::kAdmitted, .ref = release.ref, .outcome = {}, .admitted_at = {}};
}

LedgerEntry LedgerStoreSimulated::apply(const core::LedgerQuestion& question) {
    const auto known =
        uses_.database.calls.find(key_of(question.tenant, question.principal, question.key));
    LedgerEntry absent{.status = LedgerStatus::kAbsent, .outcome = {}, .admitted_at = {}};
    if (known == uses_.database.calls.end()) return absent;
    const auto end = uses_.database.ends.find(known->second.ref.low);
    if (end != uses_.database.ends.end() && end->second.decision == Database::Decision::kNothing)
        return absent;
    return entry_of(known->second);
}

}  // namespace crab::fleet::simulation
