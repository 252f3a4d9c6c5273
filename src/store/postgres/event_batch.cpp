#include "store/postgres/event_batch.hpp"

#include "base/encoding.hpp"

#include <algorithm>

namespace crab::store::postgres {
namespace {

using core::CallStep;
using core::EventReceipt;
using core::EventStatus;
using core::NewEvent;

/// What an event takes beside its envelope, about.
constexpr std::int64_t kRowBytes = 200;

std::string content_of(const NewEvent& event) {
    return {reinterpret_cast<const char*>(event.content.data()), event.content.size()};
}

bool is_end(const NewEvent& event) {
    return event.step == CallStep::kEnded || event.step == CallStep::kEndedUnknown;
}

/// Ids and keys are told apart by their first letter.
std::vector<std::string> keys_of(const NewEvent& event) {
    if (event.publisher.empty()) return {};
    std::vector<std::string> keys{"e" + event.event.event_id};
    if (!event.idempotency_key.empty()) keys.push_back("k" + event.idempotency_key);
    return keys;
}

}  // namespace

Result<std::vector<EventReceipt>> EventBatch::write(Connection& database) {
    auto head = database.query("SELECT last FROM event_head FOR UPDATE");
    if (!head) return fail(std::move(head.error()));
    if (const auto there = was_written(database); !there)
        return fail(there.error());
    else if (*there)
        return receipts_;
    last_ = (*head)[0].integer(0);
    seen_.clear();
    accepted_.clear();
    opened_.clear();
    closed_.clear();
    doubts_.clear();
    receipts_.clear();
    if (auto read = read_repeats(database); !read) return fail(std::move(read.error()));
    if (auto read = read_open(database); !read) return fail(std::move(read.error()));
    if (auto read = read_stored(database); !read) return fail(std::move(read.error()));
    for (const NewEvent& event : events_) {
        auto receipt = accept(database, event);
        if (!receipt) return fail(std::move(receipt.error()));
        receipts_.push_back(std::move(*receipt));
    }
    if (auto stored = store(database); !stored) return fail(std::move(stored.error()));
    return receipts_;
}

// The head is locked: what was being committed is there by now, or never will be.
Result<bool> EventBatch::was_written(Connection& database) {
    if (accepted_.empty()) return false;
    const auto& [event, position] = accepted_.front();
    auto rows = database.query("SELECT event_id FROM event WHERE position = $1", position);
    if (!rows) return fail(std::move(rows.error()));
    return rows->count() == 1 && (*rows)[0].text_view(0) == event->event.event_id;
}

Result<void> EventBatch::read_repeats(Connection& database) {
    Array publishers, keys;
    bool any = false;
    for (const NewEvent& event : events_) {
        for (const std::string& key : keys_of(event)) {
            publishers.add(event.publisher);
            keys.add(key);
            any = true;
        }
    }
    if (!any) return {};
    auto rows = database.query(
        "SELECT publisher, key, content, event_id FROM event_repeat JOIN unnest($1::text[], "
        "$2::text[]) x(publisher, key) USING (publisher, key)",
        publishers, keys);
    if (!rows) return fail(std::move(rows.error()));
    for (const auto row : *rows)
        seen_[{row.text(0), row.text(1)}] = {.content = row.bytes(2), .event_id = row.text(3)};
    return {};
}

Result<void> EventBatch::read_open(Connection& database) {
    open_.clear();
    Array ended;
    bool any = false;
    for (const NewEvent& event : events_) {
        if (!self_ || !is_end(event)) continue;
        ended.add(event.requested_id);
        any = true;
    }
    if (!any) return {};
    auto rows = database.query(
        "SELECT request_id FROM event_open WHERE request_id = ANY ($1::text[])", ended);
    if (!rows) return fail(std::move(rows.error()));
    for (const auto row : *rows) open_.insert(row.text(0));
    return {};
}

// The head is locked: what was being committed then is there by now, or never will be.
Result<void> EventBatch::read_stored(Connection& database) {
    stored_.clear();
    Array sent;
    std::optional<core::EventPosition> after;
    for (const NewEvent& event : events_) {
        if (!event.sent_after) continue;
        after = std::min(after.value_or(*event.sent_after), *event.sent_after);
        sent.add(event.event.event_id);
    }
    if (!after) return {};
    auto rows = database.query(
        "SELECT event_id FROM event WHERE position > $1 AND event_id = ANY ($2::text[])", *after,
        sent);
    if (!rows) return fail(std::move(rows.error()));
    for (const auto row : *rows) stored_.insert(row.text(0));
    return {};
}

bool EventBatch::has_ended(const NewEvent& end) const {
    const std::string& id = end.requested_id;
    return !opened_.contains(id) && (!open_.contains(id) || closed_.contains(id));
}

std::optional<EventReceipt> EventBatch::find_repeat(const NewEvent& event) const {
    for (const std::string& key : keys_of(event)) {
        const auto found = seen_.find({event.publisher, key});
        if (found == seen_.end()) continue;
        const bool same = found->second.content == content_of(event);
        return EventReceipt{.status = same ? EventStatus::kDuplicate : EventStatus::kConflict,
                            .position = 0,
                            .event_id = found->second.event_id};
    }
    return std::nullopt;
}

Result<EventReceipt> EventBatch::accept(Connection& database, const NewEvent& event) {
    if (auto repeat = find_repeat(event)) return std::move(*repeat);
    if (stored_.contains(event.event.event_id) || (self_ && is_end(event) && has_ended(event)))
        return EventReceipt{.status = EventStatus::kDropped, .position = 0, .event_id = {}};
    if (event.step == CallStep::kSettles) {
        const auto settled = settle(database, event);
        if (!settled) return fail(settled.error());
        if (!*settled)
            return EventReceipt{.status = EventStatus::kDropped, .position = 0, .event_id = {}};
    }
    const core::EventPosition position = ++last_;
    accepted_.emplace_back(&event, position);
    for (const std::string& key : keys_of(event))
        seen_.try_emplace({event.publisher, key},
                          Seen{.content = content_of(event), .event_id = event.event.event_id});
    account(event, position);
    return EventReceipt{.status = EventStatus::kAccepted, .position = position, .event_id = {}};
}

Result<bool> EventBatch::settle(Connection& database, const NewEvent& event) {
    if (doubts_.erase({event.event.tenant, event.call_id, event.publisher}) != 0) return true;
    auto gone = database.query(
        "DELETE FROM event_doubt WHERE tenant = $1 AND call_id = $2 AND addressee = $3",
        event.event.tenant, event.call_id, event.publisher);
    if (!gone) return fail(std::move(gone.error()));
    return gone->changed() != 0;
}

void EventBatch::account(const NewEvent& event, core::EventPosition position) {
    switch (event.step) {
        case CallStep::kNone:
        case CallStep::kSettles: return;
        case CallStep::kRequested: opened_[event.event.event_id] = position; return;
        case CallStep::kEndedUnknown:
            if (!event.event.addressee.empty())
                doubts_[{event.event.tenant, event.call_id, event.event.addressee}] = position;
            [[fallthrough]];
        case CallStep::kEnded:
            if (opened_.erase(event.requested_id) == 0) closed_.insert(event.requested_id);
            return;
    }
}

Result<void> EventBatch::store(Connection& database) {
    if (accepted_.empty()) return {};
    if (auto done = store_events(database); !done) return done;
    if (auto done = store_repeats(database); !done) return done;
    return store_account(database);
}

Result<void> EventBatch::store_events(Connection& database) {
    Array positions, types, steps, ids, tenants, agents, sessions, addressees, envelopes;
    std::int64_t bytes = 0;
    for (const auto& [event, position] : accepted_) {
        const core::Event& about = event->event;
        positions.add_number(position);
        types.add(core::name_of(about.type));
        steps.add_number(static_cast<std::int64_t>(event->step));
        ids.add(about.event_id);
        tenants.add(about.tenant);
        agents.add(about.agent_id);
        sessions.add(about.session_id);
        addressees.add(about.addressee);
        envelopes.add(about.envelope);
        bytes += static_cast<std::int64_t>(about.envelope.size()) + kRowBytes;
    }
    auto stored = database.run(
        "INSERT INTO event (position, at_ms, type, step, event_id, tenant, agent_id, session_id, "
        "addressee, envelope) SELECT position, $10, type, step, event_id, tenant, agent_id, "
        "session_id, addressee, envelope FROM unnest($1::bigint[], $2::text[], $3::smallint[], "
        "$4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[]) u(position, "
        "type, step, event_id, tenant, agent_id, session_id, addressee, envelope)",
        positions, types, steps, ids, tenants, agents, sessions, addressees, envelopes, at_);
    if (!stored) return stored;
    return database.run("UPDATE event_head SET last = $1, bytes = bytes + $2", last_, bytes);
}

Result<void> EventBatch::store_repeats(Connection& database) {
    Array publishers, keys, contents, ids, positions;
    bool any = false;
    for (const auto& [event, position] : accepted_) {
        for (const std::string& key : keys_of(*event)) {
            any = true;
            publishers.add(event->publisher);
            keys.add(key);
            contents.add_bytes(event->content);
            ids.add(event->event.event_id);
            positions.add_number(position);
        }
    }
    if (!any) return {};
    return database.run(
        "INSERT INTO event_repeat (publisher, key, content, event_id, position) SELECT * FROM "
        "unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::bigint[]) ON CONFLICT DO "
        "NOTHING",
        publishers, keys, contents, ids, positions);
}

Result<void> EventBatch::store_account(Connection& database) {
    Array opened, positions, closed;
    for (const auto& [id, position] : opened_) {
        opened.add(id);
        positions.add_number(position);
    }
    for (const std::string& id : closed_) closed.add(id);
    const auto node = self_ ? std::optional(self_->number) : std::nullopt;
    const auto boot = self_ ? std::optional(self_->boot) : std::nullopt;
    if (!opened_.empty()) {
        auto done = database.run(
            "INSERT INTO event_open (request_id, position, node, boot) SELECT id, position, $3, $4 "
            "FROM unnest($1::text[], $2::bigint[]) u(id, position) ON CONFLICT DO NOTHING",
            opened, positions, node, boot);
        if (!done) return done;
    }
    if (!closed_.empty()) {
        auto done =
            database.run("DELETE FROM event_open WHERE request_id = ANY ($1::text[])", closed);
        if (!done) return done;
    }
    for (const auto& [doubt, position] : doubts_) {
        const auto& [tenant, call_id, addressee] = doubt;
        auto done = database.run(
            "INSERT INTO event_doubt (tenant, call_id, addressee, position) VALUES ($1, $2, $3, "
            "$4) ON CONFLICT (tenant, call_id, addressee) DO UPDATE SET position = $4",
            tenant, call_id, addressee, position);
        if (!done) return done;
    }
    return {};
}

}  // namespace crab::store::postgres
