#include "apps/crab/gateway/agent_side.hpp"

#include "adapters/rtp/event_wire.hpp"
#include "agent/cut_text.hpp"
#include "base/log.hpp"
#include "core/policy.hpp"
#include "store/sqlite/event_turn_store_sqlite.hpp"

#include <fmt/format.h>

namespace crab::app {
namespace {

constexpr std::chrono::days kKeep{30};
constexpr std::size_t kMostAnswer = std::size_t{256} << 10;   // of an answer that an event carries

Result<agent::EventTrigger> make_trigger(const config::TriggerOptions& options, const std::string& tenant, const std::string& at) {
    auto types = core::EventTypes::parse(options.event);
    if (!types) return fail(ErrorCode::kInvalidArgs, fmt::format("{}.event: {}", at, types.error().message));
    for (const core::EventType type : core::all_event_types()) {
        if (!agent::may_start_turns(type)) types->remove(type);
    }
    if (types->empty()) return fail(ErrorCode::kInvalidArgs, at + ".event: turns cause such events themselves, so they start none");
    agent::EventTrigger trigger{.filter = {.types = *types, .tenant = tenant, .agent_id = options.agent_id, .session_id = options.session_id}, .where = {},
                                .prompt = options.prompt, .one_session = options.one_session, .max_age = options.max_age};
    for (const config::PayloadCondition& condition : options.where) trigger.where.push_back({.pointer = condition.pointer, .glob = Glob(condition.glob)});
    return trigger;
}

}  // namespace

Result<std::unique_ptr<AgentSide>> AgentSide::open(const std::filesystem::path& file, const config::GatewayConfig& config, Services services) {
    auto store = store::sqlite::EventTurnStoreSqlite::open(file);
    if (!store) return fail(std::move(store.error()));
    std::unique_ptr<AgentSide> side(new AgentSide(std::move(*store), std::move(services)));
    const Services& made = side->services_;
    auto open_turns = side->store_->end_open(token_of(ErrorCode::kOutcomeUnknown), made.loop.clock().system_now());
    if (!open_turns) return fail(std::move(open_turns.error()));
    for (const core::EventTurn& turn : *open_turns) {
        log::warn("the gateway stopped while a turn of an event ran", {{"agent_id", turn.agent}, {"turn_id", turn.turn_id}, {"session_id", turn.session.text()}});
        std::string_view tenant = core::kDefaultTenant;
        for (const auto& agent : config.agents) {
            if (agent.name == turn.agent) tenant = agent.tenant;
        }
        side->tell({.turn = turn, .tenant = tenant, .answer = {}, .failure = "the gateway stopped before the turn's end; it is not begun again", .target = {}});
    }
    for (std::size_t i = 0; i < config.agents.size(); ++i) {
        const config::NamedAgentOptions& options = config.agents[i];
        if (options.on.empty()) continue;
        agent::EventAgent agent{.name = options.name, .tenant = options.tenant, .triggers = {}, .at_once = options.at_once};
        for (std::size_t k = 0; k < options.on.size(); ++k) {
            auto trigger = make_trigger(options.on[k], options.tenant, fmt::format("agents[{}].on[{}]", i, k));
            if (!trigger) return fail(std::move(trigger.error()));
            agent.triggers.push_back(std::move(*trigger));
        }
        side->agents_.push_back(std::make_unique<agent::EventTurns>(
            agent::EventTurns::Services{.loop = made.loop, .runner = made.runner, .outbox = made.outbox, .turns = *side->store_, .chats = made.chats, .store_pool = made.chat_pool,
                                        .witness = [raw = side.get()](const agent::EventTurnNews& news) { raw->tell(news); }},
            std::move(agent)));
    }
    return side;
}

void AgentSide::start() {
    for (const auto& agent : agents_) agent->start();
}

void AgentSide::stop(std::function<void()> done) {
    auto left = std::make_shared<std::size_t>(agents_.size() + 1);
    const auto one_less = [left, end = std::move(done)] {
        if (--*left == 0) end();
    };
    for (const auto& agent : agents_) agent->stop(one_less);
    one_less();
}

void AgentSide::forget_old() {
    if (const auto forgotten = store_->forget(services_.loop.clock().system_now() - kKeep); !forgotten) log::warn("old turns were not forgotten", {{"reason", forgotten.error().message}});
}

/// `agent.turn.started`, then `agent.response.created` and `agent.turn.completed`, or `agent.turn.failed`.
void AgentSide::tell(const agent::EventTurnNews& news) {
    const auto duration = [&](json::Writer& writer) {
        writer.key("duration_ms").integer(std::max<std::int64_t>(0, std::chrono::duration_cast<Milliseconds>(*news.turn.ended - news.turn.begun).count()));
    };
    if (!news.turn.ended) {
        publish(core::EventType::kAgentTurnStarted, news, [](json::Writer&) {});
    } else if (news.turn.end == "answer") {
        publish(core::EventType::kAgentResponseCreated, news, [&](json::Writer& writer) {
            const std::string_view text = agent::cut_text(news.answer, kMostAnswer);
            writer.key("text").string_lossy(text).key("response_id").string(news.turn.turn_id);
            writer.key("content").begin_array().begin_object().key("type").string("text").key("text").string_lossy(text).end_object().end_array();
            if (news.answer.size() > kMostAnswer) writer.key("truncated").boolean(true);
        });
        publish(core::EventType::kAgentTurnCompleted, news, duration);
    } else {
        publish(core::EventType::kAgentTurnFailed, news, [&](json::Writer& writer) {
            writer.key("error").begin_object().key("code").string(news.turn.end).key("message").string_lossy(news.failure).end_object();
            duration(writer);
        });
    }
}

void AgentSide::publish(core::EventType type, const agent::EventTurnNews& news, const std::function<void(json::Writer& payload)>& more) {
    core::NewEvent made;
    core::Event& event = made.event;
    event.type = type;
    event.event_id = services_.loop.ids().uuid_v7().view();
    event.tenant = news.tenant;
    event.agent_id = news.turn.agent;
    event.session_id = news.turn.session.text();
    rtp::begin_envelope(event.envelope, {.event_id = event.event_id, .trace_id = news.turn.turn_id, .tenant_id = event.tenant, .agent_id = event.agent_id, .session_id = event.session_id,
                                         .isolation_key = {}, .gateway_id = services_.gateway_id, .transport = "internal", .occurred_at = services_.loop.clock().system_now(), .type = type, .target = news.target});
    json::Writer writer(event.envelope);
    writer.begin_object().key("turn_id").string(news.turn.turn_id).key("cause").begin_object().key("event_id").string_lossy(news.turn.event_id);
    writer.key("event_type").string(news.turn.event_type).end_object();
    more(writer);
    writer.end_object();
    event.envelope += '}';
    services_.outbox.post_owed(std::move(made));
}

void AgentSide::append_metrics(std::string& out) const {
    std::uint64_t begun = 0, failed = 0, late = 0;
    for (const auto& agent : agents_) {
        begun += agent->counts().begun.value();
        failed += agent->counts().failed.value();
        late += agent->counts().late.value();
    }
    core::append_metric(out, "crab_event_turns_total", "counter", "Turns that events have started.", static_cast<double>(begun));
    core::append_metric(out, "crab_event_turns_failed_total", "counter", "Turns of events that ended with an error.", static_cast<double>(failed));
    core::append_metric(out, "crab_event_turns_late_total", "counter", "Events that were too old to start a turn, or no longer kept.", static_cast<double>(late));
}

}  // namespace crab::app
