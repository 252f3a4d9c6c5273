#include "agent/event_turns.hpp"

#include "base/log.hpp"
#include "core/chat/draft_keeper.hpp"
#include "crypto/digest.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::agent {
namespace {

constexpr std::size_t kMostAtOnce = 64;          // events that are read together
constexpr std::size_t kStoreEvery = 256;  // events passed over until the position is stored
constexpr std::chrono::seconds kPause{5};  // after a store has failed
constexpr std::chrono::seconds kHoldAgain{1};  // while another process has the agent
constexpr std::string_view kInterrupted = "[interrupted: the gateway stopped]";

using Position = std::optional<core::EventPosition>;

core::PrincipalRef principal_of(const EventAgent& agent) {
    auto principal = std::make_shared<core::Principal>();
    principal->id = principal_id_of(agent.name);
    principal->tenant = TenantId(agent.tenant);
    principal->roles = {core::Role::kCaller};
    return principal;
}

}  // namespace

std::string session_id_of(std::string_view agent) {
    constexpr std::size_t kMostName = 64, kDigits = 32;  // a turn's id may follow
    const bool fits = agent.size() <= kMostName && core::is_chat_session_id(agent);
    return "agent-" + (fits ? std::string(agent) : crypto::sha256_hex(agent).substr(0, kDigits));
}

/// Keeps what a turn says.
class EventTurns::Record final : public core::TurnEvents {
public:
    Record(EventTurns& turns, core::NewChatSession session, std::string turn)
        : turns_(turns), session_(std::move(session)), turn_(std::move(turn)) {}
    void on_debug_prompt(std::string_view, std::int64_t) override {}
    void on_chunk(std::string_view text) override {
        unstored_ += text;
        draft_.on_words();
    }
    void on_thinking(std::string_view) override {}
    void on_tool_call(std::string_view, std::string_view, std::string_view) override {}
    void on_tool_result(std::string_view, std::string_view, std::string_view) override {}
    void on_message(std::string_view role, std::string_view content,
                    std::string_view extra) override {
        if (role == "assistant") unstored_.clear();
        store(role, content, extra, {});
    }
    void ask(std::string_view question) { store("user", question, {}, {}); }
    /// The last words, with a note behind what broke off.
    void close(std::string_view note, std::string_view outcome) {
        std::string text = std::move(unstored_);
        if (!note.empty()) text += fmt::format("{}{}", text.empty() ? "" : "\n", note);
        store("assistant", text, {}, outcome);
    }

private:
    std::optional<core::DraftKeeper::Draft> draft() const {
        if (unstored_.empty()) return std::nullopt;
        return core::DraftKeeper::Draft{
            .session = session_,
            .said = {.turn = turn_,
                     .content = unstored_,
                     .created_at = turns_.services_.loop.clock().system_now()}};
    }
    void store(std::string_view role, std::string_view content, std::string_view extra,
               std::string_view outcome) {
        if (role == "assistant") draft_.on_message();
        turns_.store(session_, {.role = std::string(role),
                                .content = std::string(content),
                                .created_at = turns_.services_.loop.clock().system_now(),
                                .extra = std::string(extra),
                                .turn = turn_,
                                .outcome = std::string(outcome)});
    }

    EventTurns& turns_;
    const core::NewChatSession session_;
    const std::string turn_;
    std::string unstored_;
    core::DraftKeeper draft_{{.timers = turns_.services_.loop.timers(),
                              .clock = turns_.services_.loop.clock(),
                              .store_pool = turns_.services_.store_pool,
                              .chats = turns_.services_.chats},
                             [this] { return draft(); }};
};

EventTurns::EventTurns(Services services, EventAgent agent)
    : services_(std::move(services)),
      agent_(std::make_shared<const EventAgent>(std::move(agent))),
      principal_(principal_of(*agent_)),
      notifier_(std::make_shared<core::EventNotifier>(services_.loop.executor(),
                                                      services_.loop.timers())),
      room_(services_.loop.timers()),
      tasks_(services_.loop.executor()) {}

void EventTurns::start() {
    services_.outbox.add(notifier_);
    tasks_.spawn("events of an agent", watch());
}

void EventTurns::stop(std::function<void()> done) {
    if (passed_over_ > 0)
        services_.store_pool.post([&turns = services_.turns, name = agent_->name,
                                   position = position_] { (void)turns.advance(name, position); });
    tasks_.stop(std::move(done));
}

void EventTurns::store(const core::NewChatSession& session, core::ChatMessage message) {
    services_.store_pool.post([&chats = services_.chats, session, message = std::move(message)] {
        if (const auto stored = chats.append(session, message); !stored)
            log::warn("a turn's words were not stored",
                      {{"session_id", session.id.text()}, {"reason", stored.error().message}});
    });
}

/// Waits before something is tried again; false when it is to be given up.
Task<bool> EventTurns::pause(Milliseconds time) {
    Waiter pause(services_.loop.timers());
    co_return co_await pause.wait(services_.loop.clock().steady_now() + time) == WaitEnd::kExpired;
}

/// Waits while another process has the agent, then goes on where that has stopped looking; false
/// when it was cancelled.
Task<bool> EventTurns::take_agent() {
    for (;;) {
        auto read = [&turns = services_.turns, name = agent_->name,
                     newest = services_.outbox.last()]() -> Result<Position> {
            const auto held = turns.hold(name);
            if (!held) return fail(held.error());
            if (!*held) return std::nullopt;
            auto known = turns.position(name);
            if (!known) return fail(std::move(known.error()));
            if (*known) return **known;
            if (auto stored = turns.advance(name, newest); !stored)
                return fail(std::move(stored.error()));
            return newest;
        };
        const auto found = co_await services_.store_pool.run(std::move(read));
        if (found && *found) {
            // an outbox that was removed begins again
            position_ = std::min(**found, services_.outbox.last());
            has_agent_ = true;
            co_return true;
        }
        if (found) {
            if (!co_await pause(kHoldAgain)) co_return false;
            continue;
        }
        log::warn("an agent cannot read where it was",
                  {{"agent_id", agent_->name}, {"reason", found.error().message}});
        if (!co_await pause(kPause)) co_return false;
    }
}

Task<void> EventTurns::watch() {
    const TaskChain& chain = co_await this_chain();
    while (!chain.cancelled()) {
        if (!has_agent_ && !co_await take_agent()) co_return;
        const auto events = co_await services_.outbox.read(position_, kMostAtOnce);
        if (!events && events.error().code == ErrorCode::kNotFound) {
            log::warn("an agent has missed events that were already removed",
                      {{"agent_id", agent_->name}, {"after", position_}});
            services_.counts.late.add();
            position_ = services_.outbox.first() - 1;
        } else if (!events) {
            log::warn("an agent cannot read events",
                      {{"agent_id", agent_->name}, {"reason", events.error().message}});
            if (!co_await pause(kPause)) co_return;
        } else if (events->empty()) {
            if (co_await services_.outbox.sleep(*notifier_, position_, kNoDeadline) ==
                WaitEnd::kCancelled)
                co_return;
        } else {
            for (const auto& event : *events) {
                if (!co_await look_at(event)) co_return;
                if (!has_agent_) break;
            }
        }
    }
}

void EventTurns::set_agent(EventAgent agent) {
    agent_ = std::make_shared<const EventAgent>(std::move(agent));
    principal_ = principal_of(*agent_);
    room_.wake();  // there may be more
}

const EventTrigger* EventTurns::trigger_of(const EventAgent& agent,
                                           const core::StoredEvent& event) {
    const auto found = std::ranges::find_if(agent.triggers, [&](const EventTrigger& trigger) {
        return wants(trigger, event.event, parser_);
    });
    if (found == agent.triggers.end()) return nullptr;
    const SystemTime now = services_.loop.clock().system_now();
    if (now - event.at <= found->max_age) return &*found;
    services_.counts.late.add();
    log::warn("an event is too old to start a turn",
              {{"agent_id", agent.name}, {"event_id", event.event.event_id}});
    return nullptr;
}

/// Starts the turn of this event, if it is one of the agent's; waits while there is no room for it.
/// False when it was cancelled. It may find that another process has the agent by now.
Task<bool> EventTurns::look_at(core::EventOutbox::EventRef event) {
    while (running_ >= agent_->at_once) {
        if (co_await room_.wait(kNoDeadline) == WaitEnd::kCancelled) co_return false;
    }
    const std::shared_ptr<const EventAgent> agent = agent_;  // others may be set meanwhile
    const core::PrincipalRef principal = principal_;
    const EventTrigger* const trigger = trigger_of(*agent, *event);
    if (trigger == nullptr) {
        position_ = event->position;
        if (++passed_over_ < kStoreEvery) co_return true;
        passed_over_ = 0;
        services_.store_pool.post([&turns = services_.turns, name = agent_->name,
                                   position = position_] { (void)turns.advance(name, position); });
        co_return true;
    }
    core::EventTurn turn{.turn_id = std::string(services_.loop.ids().uuid_v7().view()),
                         .agent = agent_->name,
                         .event_id = event->event.event_id,
                         .event_type = std::string(name_of(event->event.type)),
                         .session = {},
                         .begun = services_.loop.clock().system_now()};
    const std::string own_session = session_id_of(agent_->name);
    turn.session = ChatSessionId(
        trigger->one_session ? own_session : fmt::format("{}-{}", own_session, turn.turn_id));
    for (;;) {
        auto claim = [&turns = services_.turns, turn, position = event->position] {
            return turns.claim(turn, position);
        };
        const auto claimed = co_await services_.store_pool.run(std::move(claim));
        if (!claimed && claimed.error().code == ErrorCode::kConflict) {
            has_agent_ = false;
            co_return true;
        }
        if (!claimed) {
            log::warn("an event's turn cannot be recorded, and does not begin",
                      {{"agent_id", agent_->name}, {"reason", claimed.error().message}});
            if (!co_await pause(kPause)) co_return false;
            continue;
        }
        position_ = event->position;
        if (*claimed) {
            ++running_;
            std::string title = trigger->one_session ? agent->name : turn.event_type;
            tasks_.spawn("turn of an event", run_turn(std::move(turn), principal, std::move(title),
                                                      question_of(*trigger, event->event),
                                                      answer_target_of(event->event, parser_)));
        }
        co_return true;
    }
}

Task<void> EventTurns::run_turn(core::EventTurn turn, core::PrincipalRef principal,
                                std::string title, std::string question, std::string target) {
    TaskChain& chain = co_await this_chain();
    services_.counts.begun.add();
    const core::TurnSummary story{.turn_id = turn.turn_id,
                                  .tenant = principal->tenant.text(),
                                  .agent = turn.agent,
                                  .session = turn.session.text(),
                                  .principal = principal->id,
                                  .event_id = turn.event_id,
                                  .event_type = turn.event_type,
                                  .target = std::move(target),
                                  .begun = turn.begun};
    services_.log.begun(story);
    Record record(*this,
                  {.id = turn.session,
                   .owner = principal->id,
                   .name = std::move(title),
                   .persona = turn.agent,
                   .created_at = turn.begun},
                  turn.turn_id);
    record.ask(question);
    core::TurnRequest request{.principal = principal,
                              .session_id = turn.session.text(),
                              .turn_id = turn.turn_id,
                              .persona = turn.agent,
                              .content = std::move(question)};
    request.front = "event";
    Result<std::string> answer = fail(ErrorCode::kInternal, "the turn failed unexpectedly");
    try {
        answer = co_await services_.runner.run(std::move(request), record);
    } catch (const std::exception& failure) {
        log::error(
            "a turn failed unexpectedly",
            {{"agent_id", turn.agent}, {"turn_id", turn.turn_id}, {"reason", failure.what()}});
    }
    const bool stopped = chain.cancelled();
    chain.forget_cancellation();
    if (stopped) answer = fail(ErrorCode::kCancelled, "the gateway stopped");
    if (!answer) services_.counts.failed.add();
    const core::TurnEnd end{
        .at = services_.loop.clock().system_now(),
        .outcome = answer ? "answer" : std::string(token_of(answer.error().code)),
        .text = answer ? *answer : answer.error().message};
    record.close(answer    ? std::string()
                 : stopped ? std::string(kInterrupted)
                           : fmt::format("[the turn failed: {}]", end.text),
                 end.outcome);
    auto finish = [&turns = services_.turns, id = turn.turn_id, end] {
        return turns.finish(id, end.outcome, end.at);
    };
    const auto finished = co_await services_.store_pool.run(std::move(finish));
    if (!finished)
        log::warn("the end of a turn was not recorded", {{"agent_id", turn.agent},
                                                         {"turn_id", turn.turn_id},
                                                         {"reason", finished.error().message}});
    services_.log.ended(story, end);
    --running_;
    room_.wake();
}

}  // namespace crab::agent
