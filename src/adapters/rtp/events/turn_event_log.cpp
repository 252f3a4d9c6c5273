#include "adapters/rtp/events/turn_event_log.hpp"

#include "adapters/rtp/events/event_repair.hpp"
#include "adapters/rtp/events/event_wire.hpp"
#include "base/cut_text.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"

#include <algorithm>

namespace crab::rtp {
namespace {

using core::CallStep;
using core::EventType;

constexpr std::size_t kMostAnswer = std::size_t{256} << 10;  // of an answer that an event carries
constexpr std::string_view kAnswer = "answer";
// of answers, which may be told again after a crash
constexpr std::string_view kPublisher = "gateway/turns";

using Payload = std::function<void(json::Writer& payload)>;

core::NewEvent make_event(EventType type, std::string_view event_id, const core::TurnSummary& story,
                          SystemTime at, std::string_view gateway_id, const Payload& more) {
    core::NewEvent made;
    core::Event& event = made.event;
    event.type = type;
    event.event_id = event_id;
    event.tenant = story.tenant;
    event.agent_id = story.agent;
    event.session_id = story.session;
    begin_envelope(event, {.trace_id = story.turn_id,
                           .gateway_id = gateway_id,
                           .occurred_at = at,
                           .target = story.target});
    json::Writer writer(event.envelope);
    writer.begin_object()
        .key("turn_id")
        .string(story.turn_id)
        .key("cause")
        .begin_object()
        .key("principal")
        .string_lossy(story.principal);
    if (!story.event_id.empty())
        writer.key("event_id")
            .string_lossy(story.event_id)
            .key("event_type")
            .string(story.event_type);
    writer.end_object();
    more(writer);
    writer.end_object();
    event.envelope += '}';
    return made;
}

/// The start's own id is the turn's, so that everybody who has the turn can name it.
core::NewEvent start_of(const core::TurnSummary& story, std::string_view gateway_id) {
    core::NewEvent start = make_event(EventType::kAgentTurnStarted, story.turn_id, story,
                                      story.begun, gateway_id, [](json::Writer&) {});
    start.step = CallStep::kRequested;
    return start;
}

std::vector<core::NewEvent> ends_of(const core::TurnSummary& story, const core::TurnEnd& end,
                                    const TurnEventOptions& options, IdSource& ids) {
    const bool answered = end.outcome == kAnswer;
    std::vector<core::NewEvent> events;
    if (answered && (options.chat_answers || !story.event_id.empty())) {
        events.push_back(make_event(
            EventType::kAgentResponseCreated, ids.uuid_v7().view(), story, end.at,
            options.gateway_id, [&](json::Writer& writer) {
                const std::string_view text = cut_text(end.text, kMostAnswer);
                writer.key("text").string_lossy(text).key("response_id").string(story.turn_id);
                writer.key("content")
                    .begin_array()
                    .begin_object()
                    .key("type")
                    .string("text")
                    .key("text")
                    .string_lossy(text)
                    .end_object()
                    .end_array();
                if (end.text.size() > kMostAnswer) writer.key("truncated").boolean(true);
            }));
        events.back().publisher = kPublisher;
        events.back().idempotency_key = story.turn_id;
    }
    events.push_back(make_event(
        answered ? EventType::kAgentTurnCompleted : EventType::kAgentTurnFailed,
        ids.uuid_v7().view(), story, end.at, options.gateway_id, [&](json::Writer& writer) {
            if (!answered)
                writer.key("error")
                    .begin_object()
                    .key("code")
                    .string(end.outcome)
                    .key("message")
                    .string_lossy(end.text)
                    .end_object();
            writer.key("duration_ms")
                .integer(std::max<std::int64_t>(
                    0, std::chrono::duration_cast<Milliseconds>(end.at - story.begun).count()));
        }));
    events.back().step = CallStep::kEnded;
    events.back().requested_id = story.turn_id;
    return events;
}

/// The turn that a start tells of.
Result<core::TurnSummary> story_of(const core::StoredEvent& start) {
    const auto envelope = json::Value::parse(start.event.envelope);
    if (!envelope) return fail(ErrorCode::kInternal, "the start event of a turn is not JSON");
    const auto text = [&](std::string_view pointer) {
        const json::Value* const value = envelope->resolve(pointer);
        return std::string(value != nullptr && value->as_string() ? *value->as_string() : "");
    };
    const json::Value* const target = envelope->resolve("/routing/target");
    return core::TurnSummary{.turn_id = start.event.event_id,
                             .tenant = start.event.tenant,
                             .agent = start.event.agent_id,
                             .session = start.event.session_id,
                             .principal = text("/payload/cause/principal"),
                             .event_id = text("/payload/cause/event_id"),
                             .event_type = text("/payload/cause/event_type"),
                             .target = target != nullptr ? target->dump() : std::string(),
                             .begun = start.at};
}

}  // namespace

void TurnEventLog::begun(const core::TurnSummary& story) {
    outbox_.post_owed(start_of(story, options_.gateway_id));
}

void TurnEventLog::ended(const core::TurnSummary& story, const core::TurnEnd& end) {
    const std::scoped_lock lock(mutex_);
    for (core::NewEvent& event : ends_of(story, end, options_, ids_))
        outbox_.post_owed(std::move(event));
}

Result<std::size_t> TurnEventLog::end_open_turns(core::EventStore& store,
                                                 const std::vector<core::TurnSummary>& recorded,
                                                 const EndOf& end_of, const Clock& clock,
                                                 const TurnEventOptions& options) {
    std::vector<core::NewEvent> starts;
    SystemTime oldest = SystemTime::max();
    for (const core::TurnSummary& story : recorded) {
        oldest = std::min(oldest, story.begun);
        starts.push_back(start_of(story, options.gateway_id));
    }
    if (auto added = append_lost_requests(store, std::move(starts), oldest, clock); !added)
        return fail(std::move(added.error()));
    const auto open = store.open_calls();
    if (!open) return fail(open.error());
    IdSource ids(clock);
    std::vector<core::NewEvent> ends;
    std::size_t ended = 0;
    for (const core::StoredEvent& start : *open) {
        if (start.event.type != EventType::kAgentTurnStarted) continue;
        const auto story = story_of(start);
        if (!story) return fail(story.error());
        const auto end = end_of(*story);
        if (!end) return fail(end.error());
        std::ranges::move(ends_of(*story, *end, options, ids), std::back_inserter(ends));
        ++ended;
    }
    if (auto written = append_events(store, ends, clock); !written)
        return fail(std::move(written.error()));
    return ended;
}

}  // namespace crab::rtp
