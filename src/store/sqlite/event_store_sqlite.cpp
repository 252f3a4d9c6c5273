#include "store/sqlite/event_store_sqlite.hpp"

#include "base/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

namespace crab::store::sqlite {
namespace {

using core::CallStep;
using core::EventPosition;
using core::EventReceipt;
using core::EventStatus;

// `step` and `request` tell which calls are open; they stand before the envelope, so that looking
// for those reads no long rows. `event_mark` has the next position and the oldest open call, so
// that a start looks at the end of the outbox only.
constexpr std::array<std::string_view, 2> kEventSchema{
    R"(
    CREATE TABLE event_outbox (
        position INTEGER PRIMARY KEY,
        at_ms INTEGER NOT NULL,
        type TEXT NOT NULL,
        step INTEGER NOT NULL,
        request TEXT,
        event_id TEXT NOT NULL,
        tenant TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        session_id TEXT NOT NULL,
        addressee TEXT NOT NULL,
        envelope TEXT NOT NULL
    ) STRICT;
    CREATE TABLE event_mark (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        next INTEGER NOT NULL,
        open_from INTEGER NOT NULL
    ) STRICT;
    INSERT INTO event_mark VALUES (1, 1, 1);
    CREATE TABLE event_seen (
        publisher TEXT NOT NULL,
        id TEXT NOT NULL,
        content INTEGER NOT NULL,
        event_id TEXT NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY (publisher, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX event_seen_position ON event_seen (position);
    CREATE TABLE event_doubt (
        tenant TEXT NOT NULL,
        call_id TEXT NOT NULL,
        addressee TEXT NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY (tenant, call_id, addressee)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE event_subscription (
        peer TEXT NOT NULL,
        name TEXT NOT NULL,
        acknowledged INTEGER NOT NULL,
        types TEXT NOT NULL,
        seen_ms INTEGER NOT NULL,
        PRIMARY KEY (peer, name)
    ) STRICT, WITHOUT ROWID;
)",
    // Existing 64-bit digests are not collision-resistant: they are dropped and equal nothing.
    R"(
    ALTER TABLE event_seen ADD COLUMN digest TEXT NOT NULL DEFAULT 'mix64';
    ALTER TABLE event_seen DROP COLUMN content;
)"};

constexpr std::int64_t kForgetEvents = 1'000;
constexpr std::string_view kEventColumns =
    "position, at_ms, type, event_id, tenant, agent_id, session_id, addressee, envelope";

core::StoredEvent event_of(const Statement& row) {
    return {
        .position = row.integer(0),
        .at = row.time(1),
        .event = {
            .type =
                core::find_event_type(row.text_view(2)).value_or(core::EventType::kHeartbeatTick),
            .event_id = row.text(3),
            .tenant = row.text(4),
            .agent_id = row.text(5),
            .session_id = row.text(6),
            .addressee = row.text(7),
            .envelope = row.text(8)}};
}

bool is_end(CallStep step) { return step == CallStep::kEnded || step == CallStep::kEndedUnknown; }

/// One integer of the first row.
Result<std::int64_t> ask(Database& database, std::string_view sql) {
    auto asked = database.query(sql);
    if (!asked) return fail(std::move(asked.error()));
    if (const auto row = asked->step(); !row) return fail(row.error());
    return asked->integer(0);
}

}  // namespace

Result<std::unique_ptr<EventStoreSqlite>> EventStoreSqlite::open(const std::filesystem::path& path,
                                                                 DatabaseOptions options) {
    auto writer = Database::open(path, options);
    if (!writer) return fail(std::move(writer.error()));
    if (auto migrated = writer->migrate("event", kEventSchema); !migrated)
        return fail(std::move(migrated.error()));
    options.check = StartCheck::kNone;
    auto reader = Database::open(path, options);
    if (!reader) return fail(std::move(reader.error()));
    Statements statements;
    const std::array<std::pair<Statement*, std::string_view>, 6> all{{
        {&statements.insert,
         "INSERT INTO event_outbox (position, at_ms, type, step, request, event_id, tenant, "
         "agent_id, session_id, addressee, envelope)"
         " VALUES (?, ?, ?, ?, nullif(?, ''), ?, ?, ?, ?, ?, ?)"},
        {&statements.find_seen,
         "SELECT digest, event_id FROM event_seen WHERE publisher = ? AND id = ?"},
        {&statements.see,
         "INSERT OR IGNORE INTO event_seen (publisher, id, digest, event_id, position) VALUES (?, "
         "?, ?, ?, ?)"},
        {&statements.mark, "UPDATE event_mark SET next = ?, open_from = ?"},
        {&statements.doubt,
         "INSERT OR REPLACE INTO event_doubt (tenant, call_id, addressee, position) VALUES (?, ?, "
         "?, ?)"},
        {&statements.settle,
         "DELETE FROM event_doubt WHERE tenant = ? AND call_id = ? AND addressee = ?"},
    }};
    for (const auto& [statement, sql] : all) {
        auto prepared = writer->prepare(sql);
        if (!prepared) return fail(std::move(prepared.error()));
        *statement = std::move(*prepared);
    }
    std::unique_ptr<EventStoreSqlite> store(
        new EventStoreSqlite(std::move(*writer), std::move(*reader), std::move(statements)));
    if (auto loaded = store->load(); !loaded) return fail(std::move(loaded.error()));
    return store;
}

/// What the last commit left.
Result<void> EventStoreSqlite::load() {
    const auto next = ask(writer_, "SELECT next FROM event_mark");
    if (!next) return fail(next.error());
    next_ = *next;
    open_calls_.clear();
    auto steps = writer_.query(
        "SELECT position, step, event_id, request FROM event_outbox WHERE position >= (SELECT "
        "open_from FROM event_mark)"
        " AND step != 0 ORDER BY position");
    if (!steps) return fail(std::move(steps.error()));
    for (;;) {
        const auto row = steps->step();
        if (!row) return fail(row.error());
        if (!*row) return {};
        const auto step = static_cast<CallStep>(steps->integer(1));
        if (step == CallStep::kRequested) open_calls_.emplace(steps->text(2), steps->integer(0));
        if (const auto open =
                is_end(step) ? open_calls_.find(steps->text_view(3)) : open_calls_.end();
            open != open_calls_.end())
            open_calls_.erase(open);
    }
}

std::vector<Result<EventReceipt>> EventStoreSqlite::append(
    const std::vector<core::NewEvent>& events, SystemTime at) {
    const std::scoped_lock lock(writing_);
    std::vector<Result<EventReceipt>> receipts;
    receipts.reserve(events.size());
    const EventPosition next_before = next_;
    const auto written = writer_.transaction([&]() -> Result<void> {
        for (const core::NewEvent& event : events) {
            auto receipt = apply(event, at);
            if (!receipt) return fail(std::move(receipt.error()));
            receipts.push_back(std::move(receipt));
        }
        return next_ == next_before ? Result<void>() : mark();
    });
    if (!written) {
        receipts.assign(events.size(), fail(written.error()));
        next_ = next_before;
        if (const auto loaded = load(); !loaded)
            log::error("open calls could not be read again", {{"reason", loaded.error().message}});
    }
    return receipts;
}

Result<EventReceipt> EventStoreSqlite::apply(const core::NewEvent& event, SystemTime at) {
    if (auto repeat = find_repeat(event); !repeat || *repeat)
        return repeat ? Result<EventReceipt>(std::move(**repeat)) : fail(std::move(repeat.error()));
    const core::Event& about = event.event;
    if (event.step == CallStep::kSettles) {
        if (const auto settled =
                statements_.settle.bind(about.tenant, event.call_id, event.publisher).run();
            !settled)
            return fail(settled.error());
        if (writer_.changes() == 0)
            return EventReceipt{.status = EventStatus::kDropped, .position = 0, .event_id = {}};
    }
    const auto inserted =
        statements_.insert
            .bind(next_, at, core::name_of(about.type), static_cast<std::int64_t>(event.step),
                  event.requested_id, about.event_id, about.tenant, about.agent_id,
                  about.session_id, about.addressee, about.envelope)
            .run();
    if (!inserted) return fail(inserted.error());
    if (auto seen = remember_repeat(event); !seen) return fail(std::move(seen.error()));
    if (auto told = account(event); !told) return fail(std::move(told.error()));
    return EventReceipt{.status = EventStatus::kAccepted, .position = next_++, .event_id = {}};
}

/// Whether its publisher has sent the event before: by its id, or under its key. Ids and keys are
/// told apart by their first letter.
Result<std::optional<EventReceipt>> EventStoreSqlite::find_repeat(const core::NewEvent& event) {
    if (event.publisher.empty()) return std::nullopt;
    for (const std::string& id :
         {"e" + event.event.event_id,
          event.idempotency_key.empty() ? std::string() : "k" + event.idempotency_key}) {
        if (id.empty()) continue;
        Statement& find = statements_.find_seen.bind(event.publisher, id);
        const auto row = find.step();
        if (!row) return fail(row.error());
        if (!*row) continue;
        const bool same = find.text_view(0) == core::to_stored(event.content);
        EventReceipt receipt{.status = same ? EventStatus::kDuplicate : EventStatus::kConflict,
                             .position = 0,
                             .event_id = find.text(1)};
        find.reset();
        return receipt;
    }
    return std::nullopt;
}

Result<void> EventStoreSqlite::remember_repeat(const core::NewEvent& event) {
    if (event.publisher.empty()) return {};
    const std::string digest = core::to_stored(event.content);
    const std::string& id = event.event.event_id;
    if (auto seen = statements_.see.bind(event.publisher, "e" + id, digest, id, next_).run(); !seen)
        return seen;
    if (event.idempotency_key.empty()) return {};
    return statements_.see.bind(event.publisher, "k" + event.idempotency_key, digest, id, next_)
        .run();
}

Result<void> EventStoreSqlite::account(const core::NewEvent& event) {
    switch (event.step) {
        case CallStep::kNone:
        case CallStep::kSettles: return {};
        case CallStep::kRequested: open_calls_.emplace(event.event.event_id, next_); return {};
        case CallStep::kEndedUnknown:
            if (!event.event.addressee.empty()) {
                if (auto doubted =
                        statements_.doubt
                            .bind(event.event.tenant, event.call_id, event.event.addressee, next_)
                            .run();
                    !doubted)
                    return doubted;
            }
            [[fallthrough]];
        case CallStep::kEnded: open_calls_.erase(event.requested_id); return {};
    }
    return {};
}

Result<void> EventStoreSqlite::mark() {
    EventPosition open_from = next_;
    for (const auto& [id, position] : open_calls_) open_from = std::min(open_from, position);
    return statements_.mark.bind(next_, open_from).run();
}

Result<std::vector<core::StoredEvent>> EventStoreSqlite::read(EventPosition after, std::size_t most,
                                                              std::size_t bytes) {
    const std::scoped_lock lock(reading_);
    auto rows = reader_.query(
        fmt::format("SELECT {} FROM event_outbox WHERE position > ? ORDER BY position LIMIT ?",
                    kEventColumns),
        after, static_cast<std::int64_t>(most));
    if (!rows) return fail(std::move(rows.error()));
    std::vector<core::StoredEvent> events;
    std::size_t size = 0;
    while (size < bytes) {
        const auto row = rows->step();
        if (!row) return fail(row.error());
        if (!*row) break;
        events.push_back(event_of(*rows));
        size += events.back().event.envelope.size();
    }
    return events;
}

Result<core::EventBounds> EventStoreSqlite::bounds() {
    const std::scoped_lock lock(writing_);
    return read_bounds();
}

Result<core::EventBounds> EventStoreSqlite::read_bounds() {
    core::EventBounds bounds{.first = next_, .last = next_ - 1, .bytes = 0, .oldest = {}};
    auto oldest =
        writer_.query("SELECT position, at_ms FROM event_outbox ORDER BY position LIMIT 1");
    if (!oldest) return fail(std::move(oldest.error()));
    const auto row = oldest->step();
    if (!row) return fail(row.error());
    if (*row) {
        bounds.first = oldest->integer(0);
        bounds.oldest = oldest->time(1);
    }
    oldest->reset();
    const auto bytes = ask(writer_,
                           "SELECT (page_count - freelist_count) * page_size FROM "
                           "pragma_page_count(), pragma_freelist_count(), pragma_page_size()");
    if (!bytes) return fail(bytes.error());
    bounds.bytes = static_cast<std::uint64_t>(*bytes);
    return bounds;
}

Result<std::vector<core::StoredEvent>> EventStoreSqlite::open_calls() {
    const std::scoped_lock lock(writing_);
    std::vector<EventPosition> positions;
    for (const auto& [id, position] : open_calls_) positions.push_back(position);
    std::ranges::sort(positions);
    std::vector<core::StoredEvent> events;
    for (const EventPosition position : positions) {
        auto found = writer_.query(
            fmt::format("SELECT {} FROM event_outbox WHERE position = ?", kEventColumns), position);
        if (!found) return fail(std::move(found.error()));
        const auto row = found->step();
        if (!row) return fail(row.error());
        if (*row) events.push_back(event_of(*found));
    }
    return events;
}

Result<std::vector<std::string>> EventStoreSqlite::requests_since(SystemTime since) {
    const std::scoped_lock lock(writing_);
    auto newest =
        writer_.query("SELECT at_ms, step, event_id FROM event_outbox ORDER BY position DESC");
    if (!newest) return fail(std::move(newest.error()));
    std::vector<std::string> ids;
    for (;;) {
        const auto row = newest->step();
        if (!row) return fail(row.error());
        if (!*row || newest->time(0) < since) return ids;
        if (static_cast<CallStep>(newest->integer(1)) == CallStep::kRequested)
            ids.push_back(newest->text(2));
    }
}

Result<std::vector<core::SubscriptionState>> EventStoreSqlite::subscriptions() {
    const std::scoped_lock lock(writing_);
    auto rows = writer_.query(
        "SELECT peer, name, acknowledged, types, seen_ms FROM event_subscription ORDER BY peer, "
        "name");
    if (!rows) return fail(std::move(rows.error()));
    std::vector<core::SubscriptionState> states;
    for (;;) {
        const auto row = rows->step();
        if (!row) return fail(row.error());
        if (!*row) return states;
        states.push_back({.peer = rows->text(0),
                          .name = rows->text(1),
                          .acknowledged = rows->integer(2),
                          .types = rows->text(3),
                          .seen = rows->time(4)});
    }
}

Result<void> EventStoreSqlite::remember(const std::vector<core::SubscriptionState>& states) {
    const std::scoped_lock lock(writing_);
    return writer_.transaction([&]() -> Result<void> {
        for (const core::SubscriptionState& state : states) {
            auto written = writer_.run(
                "INSERT OR REPLACE INTO event_subscription (peer, name, acknowledged, types, "
                "seen_ms) VALUES (?, ?, ?, ?, ?)",
                state.peer, state.name, state.acknowledged, state.types, state.seen);
            if (!written) return written;
        }
        return {};
    });
}

Result<core::EventBounds> EventStoreSqlite::forget(SystemTime before, std::uint64_t max_bytes) {
    const std::scoped_lock lock(writing_);
    const auto now = read_bounds();
    if (!now) return now;
    // The events of the file's beginning are taken for as large as the average.
    const auto kept = now->last - now->first + 1;
    const std::uint64_t excess = now->bytes > max_bytes ? now->bytes - max_bytes : 0;
    const auto by_size =
        now->bytes == 0
            ? 0
            : static_cast<std::int64_t>(static_cast<double>(kept) * static_cast<double>(excess) /
                                        static_cast<double>(now->bytes));
    auto aged = writer_.query(
        "SELECT coalesce(max(position), 0) FROM (SELECT position, at_ms FROM event_outbox ORDER BY "
        "position LIMIT ?) WHERE at_ms < ?",
        kForgetEvents, before);
    if (!aged) return fail(std::move(aged.error()));
    if (const auto row = aged->step(); !row) return fail(row.error());
    const EventPosition last =
        std::max(aged->integer(0), now->first - 1 + std::min<std::int64_t>(by_size, kForgetEvents));
    aged->reset();
    if (last < now->first) return now;
    const auto cut = writer_.transaction([&]() -> Result<void> {
        for (const std::string_view sql : {"DELETE FROM event_outbox WHERE position <= ?",
                                           "DELETE FROM event_seen WHERE position <= ?",
                                           "DELETE FROM event_doubt WHERE position <= ?"}) {
            if (auto gone = writer_.run(sql, last); !gone) return gone;
        }
        return writer_.run("DELETE FROM event_subscription WHERE seen_ms < ?", before);
    });
    if (!cut) return fail(cut.error());
    std::erase_if(open_calls_, [&](const auto& call) { return call.second <= last; });
    return read_bounds();
}

}  // namespace crab::store::sqlite
