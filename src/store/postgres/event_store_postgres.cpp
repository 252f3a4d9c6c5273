#include "store/postgres/event_store_postgres.hpp"

#include "store/postgres/event_batch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace crab::store::postgres {
namespace {

constexpr std::int64_t kForgetEvents = 1'000;
constexpr std::string_view kEventColumns =
    "position, at_ms, type, event_id, tenant, agent_id, session_id, addressee, envelope";

std::vector<core::StoredEvent> events_of(const Rows& rows) {
    std::vector<core::StoredEvent> events;
    for (const auto row : rows)
        events.push_back({.position = row.integer(0),
                          .at = row.time(1),
                          .event = {.type = core::find_event_type(row.text_view(2))
                                                .value_or(core::EventType::kHeartbeatTick),
                                    .event_id = row.text(3),
                                    .tenant = row.text(4),
                                    .agent_id = row.text(5),
                                    .session_id = row.text(6),
                                    .addressee = row.text(7),
                                    .envelope = row.text(8)}});
    return events;
}

}  // namespace

std::vector<Result<core::EventReceipt>> EventStorePostgres::append(
    const std::vector<core::NewEvent>& events, SystemTime at) {
    const std::scoped_lock lock(writing_);
    EventBatch batch(events, at, self_);
    const auto write = [&] { return writer_.transaction([&] { return batch.write(writer_); }); };
    auto written = write();
    if (!written && writer_.is_lost()) written = write();
    std::vector<Result<core::EventReceipt>> receipts;
    if (!written) {
        receipts.assign(events.size(), fail(written.error()));
        return receipts;
    }
    for (core::EventReceipt& receipt : *written) receipts.emplace_back(std::move(receipt));
    return receipts;
}

// Until the envelopes before it are as many bytes as that.
Result<std::vector<core::StoredEvent>> EventStorePostgres::read(core::EventPosition after,
                                                                std::size_t most,
                                                                std::size_t bytes) {
    const std::scoped_lock lock(reading_);
    auto rows = reader_.query(
        fmt::format("SELECT {0} FROM (SELECT {0}, sum(octet_length(envelope)) OVER (ORDER BY "
                    "position) - octet_length(envelope) AS before FROM (SELECT {0} FROM event "
                    "WHERE position > $1 ORDER BY position LIMIT $2) e) s WHERE before < $3 ORDER "
                    "BY position",
                    kEventColumns),
        after, most, bytes);
    if (!rows) return fail(std::move(rows.error()));
    return events_of(*rows);
}

Result<core::EventBounds> EventStorePostgres::bounds() {
    const std::scoped_lock lock(writing_);
    return read_bounds(false);
}

Result<core::EventBounds> EventStorePostgres::read_bounds(bool for_update) {
    auto rows = writer_.query(
        std::string("SELECT h.last, h.bytes, e.position, e.at_ms FROM event_head h LEFT JOIN "
                    "LATERAL (SELECT position, at_ms FROM event ORDER BY position LIMIT 1) e ON "
                    "true") +
        (for_update ? " FOR UPDATE OF h" : ""));
    if (!rows) return fail(std::move(rows.error()));
    const auto row = (*rows)[0];
    core::EventBounds bounds{
        .first = row.integer(0) + 1,
        .last = row.integer(0),
        .bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(row.integer(1), 0)),
        .oldest = {}};
    if (!row.is_null(2)) {
        bounds.first = row.integer(2);
        bounds.oldest = row.time(3);
    }
    return bounds;
}

Result<std::vector<core::StoredEvent>> EventStorePostgres::open_calls() {
    const std::scoped_lock lock(writing_);
    const std::string all =
        fmt::format("SELECT {} FROM event JOIN event_open USING (position)", kEventColumns);
    auto rows = self_ ? writer_.query(fmt::format("{} WHERE {} ORDER BY position", all,
                                                  is_abandoned("event_open", 1, 2)),
                                      self_->number, self_->boot)
                      : writer_.query(all + " ORDER BY position");
    if (!rows) return fail(std::move(rows.error()));
    return events_of(*rows);
}

Result<std::vector<std::string>> EventStorePostgres::requests_since(SystemTime since) {
    const std::scoped_lock lock(writing_);
    auto rows = writer_.query("SELECT event_id FROM event WHERE at_ms >= $1 AND step = $2", since,
                              static_cast<int>(core::CallStep::kRequested));
    if (!rows) return fail(std::move(rows.error()));
    std::vector<std::string> ids;
    for (const auto row : *rows) ids.push_back(row.text(0));
    return ids;
}

Result<std::vector<core::SubscriptionState>> EventStorePostgres::subscriptions() {
    const std::scoped_lock lock(writing_);
    auto rows = writer_.query(
        "SELECT peer, name, acknowledged, types, seen_ms FROM subscription ORDER BY peer COLLATE "
        "\"C\", name COLLATE \"C\"");
    if (!rows) return fail(std::move(rows.error()));
    std::vector<core::SubscriptionState> states;
    for (const auto row : *rows)
        states.push_back({.peer = row.text(0),
                          .name = row.text(1),
                          .acknowledged = row.integer(2),
                          .types = row.text(3),
                          .seen = row.time(4)});
    return states;
}

Result<void> EventStorePostgres::remember(const std::vector<core::SubscriptionState>& states) {
    Array peers, names, acknowledged, types, seen;
    for (const core::SubscriptionState& state : states) {
        peers.add(state.peer);
        names.add(state.name);
        acknowledged.add_number(state.acknowledged);
        types.add(state.types);
        seen.add_number(to_unix_ms(state.seen));
    }
    const std::scoped_lock lock(writing_);
    return writer_.run(
        "INSERT INTO subscription (peer, name, acknowledged, types, seen_ms) SELECT DISTINCT ON "
        "(peer, name) peer, name, acknowledged, types, seen FROM unnest($1::text[], $2::text[], "
        "$3::bigint[], $4::text[], $5::bigint[]) WITH ORDINALITY u(peer, name, acknowledged, "
        "types, seen, n) ORDER BY peer, name, n DESC ON CONFLICT (peer, name) DO UPDATE SET "
        "acknowledged = greatest(subscription.acknowledged, excluded.acknowledged), types = "
        "excluded.types, seen_ms = excluded.seen_ms",
        peers, names, acknowledged, types, seen);
}

Result<core::EventBounds> EventStorePostgres::forget(SystemTime before, std::uint64_t max_bytes) {
    const std::scoped_lock lock(writing_);
    // Each node asks each second: whether there is anything to do is looked at without the lock
    // that all appends wait for.
    const auto there = read_bounds(false);
    if (!there) return there;
    if (there->last < there->first || (there->oldest >= before && there->bytes <= max_bytes)) {
        auto gone = writer_.run("DELETE FROM subscription WHERE seen_ms < $1", before);
        if (!gone) return fail(std::move(gone.error()));
        return there;
    }
    return writer_.transaction([&]() -> Result<core::EventBounds> {
        const auto now = read_bounds(true);
        if (!now) return now;
        // The first events are taken for as large as the average.
        const auto kept = now->last - now->first + 1;
        const std::uint64_t excess = now->bytes > max_bytes ? now->bytes - max_bytes : 0;
        const auto by_size = now->bytes == 0
                                 ? 0
                                 : static_cast<std::int64_t>(static_cast<double>(kept) *
                                                             static_cast<double>(excess) /
                                                             static_cast<double>(now->bytes));
        auto aged = writer_.query(
            "SELECT coalesce(max(position), 0) FROM (SELECT position, at_ms FROM event ORDER BY "
            "position LIMIT $1) e WHERE at_ms < $2",
            kForgetEvents, before);
        if (!aged) return fail(std::move(aged.error()));
        const core::EventPosition last = std::max(
            (*aged)[0].integer(0), now->first - 1 + std::min<std::int64_t>(by_size, kForgetEvents));
        if (last < now->first) return now;
        for (const char* const sql :
             {"WITH gone AS (DELETE FROM event WHERE position <= $1 RETURNING envelope) UPDATE "
              "event_head SET bytes = bytes - (SELECT coalesce(sum(octet_length(envelope) + 200), "
              "0) FROM gone)",
              "DELETE FROM event_repeat WHERE position <= $1",
              "DELETE FROM event_open WHERE position <= $1",
              "DELETE FROM event_doubt WHERE position <= $1"})
            if (auto gone = writer_.run(sql, last); !gone) return fail(std::move(gone.error()));
        auto gone = writer_.run("DELETE FROM subscription WHERE seen_ms < $1", before);
        if (!gone) return fail(std::move(gone.error()));
        return read_bounds(false);
    });
}

}  // namespace crab::store::postgres
