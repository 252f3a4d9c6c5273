#include "agent/event_turns.hpp"

#include "base/log.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::agent {
namespace {

constexpr std::size_t kMostAtOnce = 64;          // events that are read together
constexpr std::size_t kStoreEvery = 256;         // events passed over until the position is stored
constexpr std::chrono::seconds kPause{5};        // after a store has failed
constexpr std::string_view kInterrupted = "[interrupted: the gateway stopped]";

core::PrincipalRef principal_of(const EventAgent& agent) {
    auto principal = std::make_shared<core::Principal>();
    principal->id = "agent/" + agent.name;
    principal->tenant = TenantId(agent.tenant);
    principal->roles = {core::Role::kCaller};
    return principal;
}

}  // namespace

/// Keeps what a turn says.
class EventTurns::Record final : public core::TurnEvents {
public:
    Record(EventTurns& turns, const ChatSessionId& session) : turns_(turns), session_(session) {}
    void on_debug_prompt(std::string_view, std::int64_t) override {}
    void on_chunk(std::string_view text) override { unstored_ += text; }
    void on_thinking(std::string_view) override {}
    void on_tool_call(std::string_view, std::string_view, std::string_view) override {}
    void on_tool_result(std::string_view, std::string_view, std::string_view) override {}
    void on_message(std::string_view role, std::string_view content, std::string_view extra) override {
        if (role == "assistant") unstored_.clear();
        turns_.store(session_, std::string(role), std::string(content), std::string(extra));
    }
    /// The last words, with a note behind what broke off.
    void close(std::string_view note) {
        std::string text = std::move(unstored_);
        if (!note.empty()) text += fmt::format("{}{}", text.empty() ? "" : "\n", note);
        turns_.store(session_, "assistant", std::move(text));
    }

private:
    EventTurns& turns_;
    const ChatSessionId& session_;
    std::string unstored_;
};

EventTurns::EventTurns(Services services, EventAgent agent)
    : services_(std::move(services)), agent_(std::move(agent)), principal_(principal_of(agent_)),
      bell_(std::make_shared<core::EventBell>(services_.loop.executor(), services_.loop.timers())), room_(services_.loop.timers()), tasks_(services_.loop.executor()) {}

void EventTurns::start() {
    services_.outbox.add(bell_);
    tasks_.spawn("events of an agent", watch());
}

void EventTurns::stop(std::function<void()> done) {
    if (passed_over_ > 0) services_.store_pool.post([&turns = services_.turns, name = agent_.name, position = position_] { (void)turns.advance(name, position); });
    tasks_.stop(std::move(done));
}

void EventTurns::store(const ChatSessionId& session, std::string role, std::string content, std::string extra) {
    core::ChatMessage message{.role = std::move(role), .content = std::move(content), .created_at = services_.loop.clock().system_now(), .extra = std::move(extra)};
    services_.store_pool.post([&chats = services_.chats, session, message = std::move(message)] {
        if (const auto stored = chats.append(session, message); !stored) log::warn("a turn's words were not stored", {{"session_id", session.text()}, {"reason", stored.error().message}});
    });
}

/// Waits before something is tried again; false when it is to be given up.
Task<bool> EventTurns::pause() {
    Waiter pause(services_.loop.timers());
    co_return co_await pause.wait(services_.loop.clock().steady_now() + kPause) == WaitEnd::kExpired;
}

/// Where this agent has stopped looking; false when it was cancelled.
Task<bool> EventTurns::find_position() {
    for (;;) {
        auto read = [this, newest = services_.outbox.last()]() -> Result<core::EventPosition> {
            auto known = services_.turns.position(agent_.name);
            if (!known) return fail(std::move(known.error()));
            if (*known) return **known;
            if (auto stored = services_.turns.advance(agent_.name, newest); !stored) return fail(std::move(stored.error()));
            return newest;
        };
        const auto found = co_await services_.store_pool.run(std::move(read));
        if (found) {
            position_ = std::min(*found, services_.outbox.last());  // an outbox that was removed begins anew
            co_return true;
        }
        log::warn("an agent cannot read where it was", {{"agent_id", agent_.name}, {"reason", found.error().message}});
        if (!co_await pause()) co_return false;
    }
}

Task<void> EventTurns::watch() {
    const TaskChain& chain = co_await this_chain();
    if (!co_await find_position()) co_return;
    while (!chain.cancelled()) {
        const auto events = co_await services_.outbox.read(position_, kMostAtOnce);
        if (!events && events.error().code == ErrorCode::kNotFound) {
            log::warn("an agent has missed events that are not kept any more", {{"agent_id", agent_.name}, {"after", position_}});
            counts_.late.add();
            position_ = services_.outbox.first() - 1;
        } else if (!events) {
            log::warn("an agent cannot read events", {{"agent_id", agent_.name}, {"reason", events.error().message}});
            if (!co_await pause()) co_return;
        } else if (events->empty()) {
            if (co_await services_.outbox.sleep(*bell_, position_, kNoDeadline) == WaitEnd::kCancelled) co_return;
        } else {
            for (const auto& event : *events) {
                if (!co_await look_at(event)) co_return;
            }
        }
    }
}

const EventTrigger* EventTurns::trigger_of(const core::StoredEvent& event) {
    const auto found = std::ranges::find_if(agent_.triggers, [&](const EventTrigger& trigger) { return wants(trigger, event.event, parser_); });
    if (found == agent_.triggers.end()) return nullptr;
    const SystemTime now = services_.loop.clock().system_now();
    if (now - event.at <= found->max_age) return &*found;
    counts_.late.add();
    log::warn("an event is too old to start a turn", {{"agent_id", agent_.name}, {"event_id", event.event.event_id}});
    return nullptr;
}

/// Starts the turn of this event, if it is one of the agent's; waits while there is no room for it. False when it was cancelled.
Task<bool> EventTurns::look_at(core::EventOutbox::EventRef event) {
    while (running_ >= agent_.at_once) {
        if (co_await room_.wait(kNoDeadline) == WaitEnd::kCancelled) co_return false;
    }
    const EventTrigger* const trigger = trigger_of(*event);
    if (trigger == nullptr) {
        position_ = event->position;
        if (++passed_over_ < kStoreEvery) co_return true;
        passed_over_ = 0;
        services_.store_pool.post([&turns = services_.turns, name = agent_.name, position = position_] { (void)turns.advance(name, position); });
        co_return true;
    }
    core::EventTurn turn{.turn_id = std::string(services_.loop.ids().uuid_v7().view()), .agent = agent_.name, .event_id = event->event.event_id,
                         .event_type = std::string(name_of(event->event.type)), .session = {}, .begun = services_.loop.clock().system_now()};
    turn.session = ChatSessionId(trigger->one_session ? fmt::format("agent-{}", agent_.name) : fmt::format("agent-{}-{}", agent_.name, turn.turn_id));
    for (;;) {
        const core::NewChatSession session{.id = turn.session, .owner = principal_->id, .name = trigger->one_session ? agent_.name : turn.event_type, .persona = agent_.name, .created_at = turn.begun};
        auto claim = [this, turn, session, position = event->position]() -> Result<bool> {
            auto claimed = services_.turns.claim(turn, position);
            if (claimed && *claimed) (void)services_.chats.open(session);  // if it fails, what is said is not stored either, and that is logged
            return claimed;
        };
        const auto claimed = co_await services_.store_pool.run(std::move(claim));
        if (!claimed) {
            log::warn("an event's turn cannot be recorded, and does not begin", {{"agent_id", agent_.name}, {"reason", claimed.error().message}});
            if (!co_await pause()) co_return false;
            continue;
        }
        position_ = event->position;
        if (*claimed) {
            ++running_;
            tasks_.spawn("turn of an event", run_turn(std::move(turn), question_of(*trigger, event->event), answer_target_of(event->event, parser_)));
        }
        co_return true;
    }
}

Task<void> EventTurns::run_turn(core::EventTurn turn, std::string question, std::string target) {
    TaskChain& chain = co_await this_chain();
    counts_.begun.add();
    store(turn.session, "user", question);
    services_.witness({.turn = turn, .tenant = agent_.tenant, .answer = {}, .failure = {}, .target = target});
    core::TurnRequest request{.principal = principal_, .session_id = turn.session.text(), .persona = agent_.name, .content = std::move(question)};
    request.front = "event";
    Record record(*this, turn.session);
    Result<std::string> answer = fail(ErrorCode::kInternal, "the turn failed unexpectedly");
    try {
        answer = co_await services_.runner.run(std::move(request), record);
    } catch (const std::exception& failure) {
        log::error("a turn failed unexpectedly", {{"agent_id", agent_.name}, {"turn_id", turn.turn_id}});
    }
    const bool stopped = chain.cancelled();
    chain.forget_cancellation();
    if (stopped) answer = fail(ErrorCode::kCancelled, "the gateway stopped");
    record.close(answer ? std::string() : stopped ? std::string(kInterrupted) : fmt::format("[the turn failed: {}]", answer.error().message));
    if (!answer) counts_.failed.add();
    turn.ended = services_.loop.clock().system_now();
    turn.end = answer ? "answer" : token_of(answer.error().code);
    auto finish = [&turns = services_.turns, turn] { return turns.finish(turn.turn_id, turn.end, *turn.ended); };
    const auto finished = co_await services_.store_pool.run(std::move(finish));
    if (!finished) log::warn("the end of a turn was not recorded", {{"agent_id", agent_.name}, {"turn_id", turn.turn_id}, {"reason", finished.error().message}});
    services_.witness({.turn = turn, .tenant = agent_.tenant, .answer = answer ? std::string_view(*answer) : "", .failure = answer ? std::string_view() : answer.error().message,
                       .target = target});
    --running_;
    room_.wake();
}

}  // namespace crab::agent
