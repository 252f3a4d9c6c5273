#include "store/sqlite/ledger_store_sqlite.hpp"

#include "store/sqlite/outcome_columns.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace crab::store::sqlite {
namespace {

using core::LedgerEntry;
using core::LedgerStatus;

constexpr std::array<std::string_view, 4> kLedgerSchema{
    R"(
    CREATE TABLE ledger (
        number INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        principal TEXT NOT NULL,
        key TEXT NOT NULL,
        content INTEGER NOT NULL,
        admitted_ms INTEGER NOT NULL,
        record TEXT,
        UNIQUE (tenant, principal, key)
    ) STRICT;
    CREATE TABLE ledger_end (
        number INTEGER PRIMARY KEY,
        duration_us INTEGER NOT NULL,
        code TEXT,
        kind INTEGER NOT NULL,
        first BLOB NOT NULL,
        second BLOB NOT NULL,
        logs TEXT NOT NULL,
        retryable INTEGER,
        retry_after_ms INTEGER,
        cpu_ms INTEGER NOT NULL,
        wall_ms INTEGER NOT NULL,
        peak_memory INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE ledger_told (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        number INTEGER NOT NULL
    ) STRICT;
    INSERT INTO ledger_told VALUES (1, 0);
)",
    R"(
    ALTER TABLE ledger ADD COLUMN event TEXT;
    ALTER TABLE ledger ADD COLUMN addressee TEXT;
)",
    R"(
    ALTER TABLE ledger ADD COLUMN tool TEXT;
    ALTER TABLE ledger ADD COLUMN source TEXT;
    ALTER TABLE ledger ADD COLUMN side_effects INTEGER;
    ALTER TABLE ledger ADD COLUMN may_run_again INTEGER;
)",
    // Existing 64-bit digests are not collision-resistant: they are dropped and equal nothing.
    R"(
    ALTER TABLE ledger ADD COLUMN digest TEXT NOT NULL DEFAULT 'mix64';
    ALTER TABLE ledger DROP COLUMN content;
)"};

constexpr int kFirstOutcomeColumn = 9;  ///< of what `find` selects
/// Of the last run: whose records the audit log may lack
constexpr std::int64_t kLateMs = 5'000;
constexpr std::int64_t kMostLate = 1'000;
constexpr std::int64_t kForgetCalls = 1'000;

std::int64_t micros(std::chrono::nanoseconds span) {
    return std::chrono::duration_cast<std::chrono::microseconds>(span).count();
}

core::LedgerRef ref_of(std::int64_t number) { return {.low = static_cast<std::uint64_t>(number)}; }
std::int64_t number_of(core::LedgerRef ref) { return static_cast<std::int64_t>(ref.low); }

}  // namespace

Result<std::unique_ptr<LedgerStoreSqlite>> LedgerStoreSqlite::open(
    const std::filesystem::path& path, DatabaseOptions options) {
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto migrated = database->migrate("ledger", kLedgerSchema); !migrated)
        return fail(std::move(migrated.error()));
    std::int64_t next = 1;
    {
        auto last = database->query("SELECT coalesce(max(number), 0) + 1 FROM ledger");
        if (!last) return fail(std::move(last.error()));
        if (const auto row = last->step(); !row) return fail(row.error());
        next = last->integer(0);
    }
    const std::string find = fmt::format(
        "SELECT l.number, l.digest, l.admitted_ms, e.number, e.duration_us, coalesce(l.tool, ''), "
        "coalesce(l.source, ''),"
        " coalesce(l.side_effects, 1), coalesce(l.may_run_again, 0), {} FROM ledger l LEFT JOIN "
        "ledger_end e ON e.number = l.number"
        " WHERE l.tenant = ? AND l.principal = ? AND l.key = ?",
        kOutcomeColumns);
    const std::string end = fmt::format(
        "INSERT INTO ledger_end (number, duration_us, {}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
        "?) ON CONFLICT (number) DO NOTHING",
        kOutcomeColumns);
    Statements statements;
    const std::array<std::pair<Statement*, std::string_view>, 5> all{{
        {&statements.insert,
         "INSERT INTO ledger (number, tenant, principal, key, digest, admitted_ms, record, event, "
         "addressee, tool, source, side_effects, may_run_again)"
         " VALUES (?, ?, ?, ?, ?, ?, nullif(?, ''), nullif(?, ''), nullif(?, ''), ?, ?, ?, ?)"
         " ON CONFLICT (tenant, principal, key) DO NOTHING"},
        {&statements.find, find},
        {&statements.remove, "DELETE FROM ledger WHERE number = ?"},
        {&statements.end, end},
        {&statements.remove_end, "DELETE FROM ledger_end WHERE number = ?"},
    }};
    for (const auto& [statement, sql] : all) {
        auto prepared = database->prepare(sql);
        if (!prepared) return fail(std::move(prepared.error()));
        *statement = std::move(*prepared);
    }
    return std::unique_ptr<LedgerStoreSqlite>(
        new LedgerStoreSqlite(std::move(*database), std::move(statements), next));
}

std::vector<Result<LedgerEntry>> LedgerStoreSqlite::write(
    const std::vector<core::LedgerChange>& changes) {
    const std::scoped_lock lock(mutex_);
    std::vector<Result<LedgerEntry>> answers;
    answers.reserve(changes.size());
    const auto written = database_.transaction([&]() -> Result<void> {
        for (const core::LedgerChange& change : changes) {
            auto answer = std::visit([this](const auto& one) { return apply(one); }, change);
            if (!answer) return fail(std::move(answer.error()));
            answers.push_back(std::move(answer));
        }
        return {};
    });
    if (!written) answers.assign(changes.size(), fail(written.error()));
    return answers;
}

Result<LedgerEntry> LedgerStoreSqlite::apply(const core::LedgerAdmission& admission) {
    const std::string digest = core::to_stored(admission.content);
    const auto insert = [&]() -> Result<bool> {
        const auto done =
            statements_.insert
                .bind(next_, admission.tenant, admission.principal, admission.key, digest,
                      admission.at, admission.record, admission.event, admission.addressee,
                      admission.tool, admission.source, std::int64_t{admission.side_effects},
                      std::int64_t{admission.may_run_again})
                .run();
        if (!done) return fail(done.error());
        return database_.changes() > 0;
    };
    const auto admitted = [&] {
        return LedgerEntry{.status = LedgerStatus::kAdmitted,
                           .ref = ref_of(next_++),
                           .outcome = {},
                           .admitted_at = admission.at};
    };
    const auto inserted = insert();
    if (!inserted) return fail(inserted.error());
    if (*inserted) return admitted();

    auto found = find(admission.tenant, admission.principal, admission.key);
    if (!found) return found;
    LedgerEntry& known = *found;
    if (known.status == LedgerStatus::kAbsent)
        return fail(ErrorCode::kInternal, "the ledger lost an entry while it was read");
    const bool same = known.content == admission.content;
    if (known.admitted_at < admission.forgotten_before ||
        (same && known.status == LedgerStatus::kOpen && admission.may_run_again)) {
        if (const auto gone = remove(number_of(known.ref)); !gone) return fail(gone.error());
        if (const auto again = insert(); !again) return fail(again.error());
        return admitted();
    }
    if (!same) {
        return LedgerEntry{
            .status = known.content ? LedgerStatus::kConflict : LedgerStatus::kIncomparable,
            .ref = known.ref,
            .outcome = {},
            .admitted_at = known.admitted_at};
    }
    return found;
}

Result<LedgerEntry> LedgerStoreSqlite::find(const std::string& tenant, const std::string& principal,
                                            const std::string& key) {
    Statement& find = statements_.find.bind(tenant, principal, key);
    const auto row = find.step();
    if (!row) return fail(row.error());
    if (!*row) {
        find.reset();
        return LedgerEntry{.status = LedgerStatus::kAbsent, .outcome = {}, .admitted_at = {}};
    }
    LedgerEntry known{.status = LedgerStatus::kOpen,
                      .ref = ref_of(find.integer(0)),
                      .content = core::from_stored(find.text_view(1)),
                      .tool = std::string(find.text(5)),
                      .source = std::string(find.text(6)),
                      .side_effects = find.integer(7) != 0,
                      .may_run_again = find.integer(8) != 0,
                      .outcome = {},
                      .admitted_at = find.time(2)};
    if (!find.is_null(3)) {
        known.status = LedgerStatus::kFinished;
        known.duration = std::chrono::microseconds(find.integer(4));
        known.outcome = read_outcome(find, kFirstOutcomeColumn);
    }
    find.reset();
    return known;
}

Result<LedgerEntry> LedgerStoreSqlite::apply(const core::LedgerQuestion& question) {
    auto known = find(question.tenant, question.principal, question.key);
    if (known && known->status != LedgerStatus::kAbsent &&
        known->admitted_at < question.forgotten_before)
        known->status = LedgerStatus::kAbsent;
    return known;
}

Result<LedgerEntry> LedgerStoreSqlite::apply(const core::LedgerEnd& end) {
    Statement& statement = statements_.end.bind(number_of(end.ref), micros(end.duration));
    bind_outcome(statement, 3, *end.outcome);
    if (const auto done = statement.run(); !done) return fail(done.error());
    return LedgerEntry{
        .status = LedgerStatus::kFinished, .ref = end.ref, .outcome = {}, .admitted_at = {}};
}

Result<LedgerEntry> LedgerStoreSqlite::apply(const core::LedgerRelease& release) {
    if (const auto gone = remove(number_of(release.ref)); !gone) return fail(gone.error());
    return LedgerEntry{
        .status = LedgerStatus::kAdmitted, .ref = release.ref, .outcome = {}, .admitted_at = {}};
}

Result<void> LedgerStoreSqlite::remove(std::int64_t number) {
    if (const auto gone = statements_.remove_end.bind(number).run(); !gone) return gone;
    return statements_.remove.bind(number).run();
}

Result<std::vector<core::UnfinishedCall>> LedgerStoreSqlite::unfinished() {
    const std::scoped_lock lock(mutex_);
    auto late = database_.query(
        fmt::format("SELECT l.record, l.event, l.addressee, l.admitted_ms, e.number, "
                    "e.duration_us, {} FROM ledger l LEFT JOIN ledger_end e ON e.number = l.number"
                    " WHERE l.number > (SELECT number FROM ledger_told) AND (e.number IS NULL OR "
                    "(l.number > (SELECT max(number) FROM ledger) - ?"
                    " AND l.admitted_ms >= (SELECT admitted_ms FROM ledger ORDER BY number DESC "
                    "LIMIT 1) - ?)) ORDER BY l.number",
                    kOutcomeColumns),
        kMostLate, kLateMs);
    if (!late) return fail(std::move(late.error()));
    std::vector<core::UnfinishedCall> calls;
    for (;;) {
        const auto row = late->step();
        if (!row) return fail(row.error());
        if (!*row) return calls;
        core::UnfinishedCall& call =
            calls.emplace_back(core::UnfinishedCall{.record = late->text(0),
                                                    .event = late->text(1),
                                                    .addressee = late->text(2),
                                                    .admitted_at = late->time(3),
                                                    .outcome = {},
                                                    .duration = {}});
        if (late->is_null(4)) continue;
        call.duration = std::chrono::microseconds(late->integer(5));
        call.outcome = read_outcome(*late, 6);
    }
}

Result<void> LedgerStoreSqlite::mark_reported() {
    const std::scoped_lock lock(mutex_);
    return database_.run("UPDATE ledger_told SET number = ?", next_ - 1);
}

Result<std::uint64_t> LedgerStoreSqlite::forget(SystemTime before) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<std::uint64_t> {
        auto last = database_.query(
            "SELECT max(number) FROM (SELECT number, admitted_ms FROM ledger ORDER BY number LIMIT "
            "?) WHERE admitted_ms < ?",
            kForgetCalls, before);
        if (!last) return fail(std::move(last.error()));
        if (const auto row = last->step(); !row) return fail(row.error());
        if (last->is_null(0)) return 0;
        const std::int64_t number = last->integer(0);
        last->reset();
        if (const auto gone = database_.run("DELETE FROM ledger_end WHERE number <= ?", number);
            !gone)
            return fail(gone.error());
        if (const auto gone = database_.run("DELETE FROM ledger WHERE number <= ?", number); !gone)
            return fail(gone.error());
        return static_cast<std::uint64_t>(database_.changes());
    });
}

}  // namespace crab::store::sqlite
