#include "adapters/clawseed/chat.hpp"

#include "adapters/clawseed/hub.hpp"
#include "adapters/clawseed/title.hpp"
#include "adapters/clawseed/wire.hpp"
#include "base/log.hpp"
#include "base/task/waiter.hpp"
#include "core/approvals/approval.hpp"
#include "core/approvals/asked_question.hpp"
#include "core/chat/draft_keeper.hpp"
#include "json/parser.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <utility>

#include <fmt/format.h>

namespace crab::clawseed {
namespace {

constexpr std::chrono::seconds kOneStop{5};  // in which its frame follows its REST request
constexpr std::string_view kInterrupted = "[interrupted by user]";
constexpr std::string_view kBrokeOff = "[the answer broke off]";
constexpr std::string_view kStopped = "[interrupted: the gateway stopped]";

}  // namespace

std::string_view turn_code(ErrorCode code) {
    switch (code) {
        case ErrorCode::kUnauthenticated:
        case ErrorCode::kAuthRequired: return "AUTH_ERROR";
        case ErrorCode::kUnavailable: return "PROVIDER_ERROR";
        case ErrorCode::kRateLimited: return "RATE_LIMITED";
        case ErrorCode::kForbidden: return "FORBIDDEN";
        case ErrorCode::kInvalidArgs:
        case ErrorCode::kToolNotFound:
        case ErrorCode::kNotFound:
        case ErrorCode::kPairingRequired:
        case ErrorCode::kPairingFailed:
        case ErrorCode::kApprovalRequired:
        case ErrorCode::kWorktreeNotBound:
        case ErrorCode::kPolicyUnenforceable:
        case ErrorCode::kAmbiguousTool:
        case ErrorCode::kConflict:
        case ErrorCode::kAlreadyInProgress:
        case ErrorCode::kOversize:
        case ErrorCode::kTimeout:
        case ErrorCode::kWallTimeout:
        case ErrorCode::kCpuBudgetExceeded:
        case ErrorCode::kCancelled:
        case ErrorCode::kOutcomeUnknown:
        case ErrorCode::kToolFailed:
        case ErrorCode::kInternal: return "AGENT_ERROR";
    }
    return "AGENT_ERROR";
}

/// A question in the queue; refused when its time is over.
struct Chat::Waiting final : TimerNode {
    Waiting(Chat& owner, ChatQuestion asked) : chat(owner), question(std::move(asked)) {}
    void on_expired() override {
        chat.refuse(question, "SESSION_BUSY", "the turn waited too long behind others; ask again");
        // ends *this
        std::erase_if(chat.waiting_, [this](const auto& waiting) { return waiting.get() == this; });
    }
    Chat& chat;
    ChatQuestion question;
};

/// The running turn: turns events into frames, and remembers what a connection that returns has
/// missed.
class Chat::Turn final : public core::TurnEvents,
                         public core::Approver,
                         public core::Asker,
                         private TimerNode {
public:
    Turn(Chat& chat, ChatQuestion asked)
        : question(std::move(asked)),
          target(question.asker),
          returned(chat.loop_.timers()),
          chat_(chat) {}

    void on_debug_prompt(std::string_view messages, std::int64_t tokens) override {
        if (question.debug && !std::exchange(debug_sent_, true))
            write([&](std::string& out) { write_debug_prompt(out, messages, tokens); });
    }
    void on_chunk(std::string_view text) override {
        full_response += text;
        draft_.on_words();
        write([&](std::string& out) { write_text(out, "chunk", text); });
    }
    void on_thinking(std::string_view text) override {
        write([&](std::string& out) { write_text(out, "thinking", text); });
    }
    void on_tool_call(std::string_view id, std::string_view name, std::string_view args) override {
        called_tools = true;
        write([&](std::string& out) { write_tool_call(out, id, name, args, call_id_of(id)); });
    }
    void on_call_id(std::string_view id, std::string_view call_id) override {
        call_ids_.insert_or_assign(std::string(id), std::string(call_id));
    }
    void on_tool_result(std::string_view id, std::string_view name,
                        std::string_view output) override {
        const bool shown = presentation_of_ == id;
        write([&](std::string& out) {
            write_tool_result(out, id, name, output,
                              shown ? std::string_view(presentation_) : std::string_view(),
                              call_id_of(id));
        });
        presentation_of_.clear();
    }
    void on_presentation(std::string_view id, std::string_view presentation) override {
        presentation_of_ = id;
        presentation_ = presentation;
        // it is shown, and not kept
        if (kept_bytes_ + presentation.size() > kMostPresentation) return;
        kept_bytes_ += presentation.size();
        presentations_.emplace_back(presentation);
    }
    void on_pictures_left_out(std::span<const std::string> ids) override {
        write([&](std::string& out) { write_image_context(out, ids); });
    }
    void on_metrics(const core::TurnMetrics& told) override { metrics = told; }
    void on_message(std::string_view role, std::string_view content,
                    std::string_view extra) override {
        if (role == "assistant") {
            stored_text_ = full_response.size();
            draft_.on_message();
        }
        chat_.store({.role = std::string(role),
                     .content = std::string(content),
                     .created_at = {},
                     .extra = std::string(extra),
                     .turn = story.turn_id});
    }
    /// What was asked, or what was said since the last of on_message(); the latter with the turn's
    /// outcome.
    void store(std::string role, std::string content, std::string_view outcome = {},
               std::string extra = {}) {
        if (role == "assistant") draft_.on_message();
        chat_.store({.role = std::move(role),
                     .content = std::move(content),
                     .created_at = {},
                     .extra = std::move(extra),
                     .turn = story.turn_id,
                     .outcome = std::string(outcome),
                     .display = outcome == "answer"
                                    ? answer_display(presentations_, metrics ? &*metrics : nullptr)
                                    : std::string()});
    }
    /// The text that no stored message of this turn has yet.
    std::string unstored_text() const { return full_response.substr(stored_text_); }
    template <class F>
    void write(F&& frame) {
        if (!target || chat_.current_.get() != this) return;
        std::string out;
        frame(out);
        target->send_frame(std::move(out));
    }

    /// Its link broke: somebody has to come back by `until`.
    void wait_for_return(Deadline until) {
        target = nullptr;
        gone_until = until;
        chat_.loop_.timers().arm(*this, until);
    }
    void go_on_with(std::shared_ptr<FrameTarget> other) {
        target = std::move(other);
        gone_until.reset();
        disarm();
        if (can_be_asked()) {
            for (const auto& open : asked_)
                write([&](std::string& out) { write_approval_request(out, open); });
        }
        if (wanted_) tell_question();
        returned.wake();
    }
    bool waits_for_somebody() const {
        return gone_until || (target == nullptr && question.detached != nullptr);
    }
    void on_expired() override { chat_.tasks_.cancel(); }

    // Asker: the person in this chat.
    Task<std::string> ask(core::AskedQuestion asked, Deadline deadline) override {
        wanted_ = PendingQuestion{.request_id = std::string(chat_.loop_.ids().uuid_v7().view()),
                                  .question = std::move(asked)};
        tell_question();
        WaitEnd end = WaitEnd::kWoken;
        while (wanted_->outcome.empty() && end == WaitEnd::kWoken)
            end = co_await answered_.wait(deadline);
        std::string outcome = std::move(wanted_->outcome);
        wanted_.reset();
        if (!outcome.empty()) co_return outcome;
        co_return end == WaitEnd::kCancelled ? R"({"status":"cancelled"})"
                                             : R"({"status":"expired"})";
    }
    /// How a response was taken, and why not.
    std::pair<std::string_view, std::string> respond(const QuestionResponse& response) {
        if (!wanted_ || !wanted_->outcome.empty() || wanted_->request_id != response.request_id)
            return {"not_pending", {}};
        if (response.turn_id != story.turn_id ||
            response.tool_call_id != wanted_->question.tool_call_id)
            return {"rejected", "turn_id or tool_call_id is not that of the question"};
        json::Parser parser;
        const auto root = parser.parse(response.frame);
        auto outcome = root ? core::read_response(wanted_->question, root->element())
                            : fail(ErrorCode::kInvalidArgs, "the response is not JSON");
        if (!outcome) return {"rejected", outcome.error().message};
        wanted_->outcome = std::move(*outcome);
        return {"accepted", {}};
    }
    /// The turn goes on with the response that was accepted; it may have ended when this returns.
    void go_on_after_response() { answered_.wake(); }

    // Approver: the person in this chat.
    bool can_be_asked() const override { return target && target->takes_approvals(); }
    void on_question(const core::ApprovalQuestion& approval) override {
        asked_.push_back(approval);
        write([&](std::string& out) { write_approval_request(out, approval); });
    }
    void on_end(const core::ApprovalQuestion& approval, const core::ApprovalEnd& end) override {
        std::erase_if(asked_, [&](const auto& each) { return each.id == approval.id; });
        if (can_be_asked())
            write([&](std::string& out) { write_approval_ended(out, approval.id, end); });
    }

    ChatQuestion question;
    std::shared_ptr<FrameTarget> target;
    std::optional<Deadline> gone_until;
    Waiter returned;
    std::string full_response;
    core::TurnSummary story;
    bool aborted = false, called_tools = false;
    bool ended_by_asker = false;  ///< by an `abort` of its own connection
    std::optional<core::TurnMetrics> metrics;

private:
    struct PendingQuestion {
        std::string request_id;
        core::AskedQuestion question;
        std::string outcome{};  ///< what the model reads; empty: none yet
    };
    std::string_view call_id_of(std::string_view id) const {
        if (!target || !target->takes_call_ids()) return {};
        const auto found = call_ids_.find(id);
        return found == call_ids_.end() ? std::string_view() : std::string_view(found->second);
    }
    void tell_question() {
        write([&](std::string& out) {
            write_ask_user_request(out,
                                   {.request_id = wanted_->request_id,
                                    .session_id = chat_.id(),
                                    .turn_id = story.turn_id},
                                   wanted_->question);
        });
    }
    std::optional<core::DraftKeeper::Draft> draft() const {
        if (chat_.forgotten_ || unstored_text().empty()) return std::nullopt;
        return core::DraftKeeper::Draft{.session = chat_.stored_form(),
                                        .said = {.turn = story.turn_id,
                                                 .content = unstored_text(),
                                                 .created_at = chat_.loop_.clock().system_now()}};
    }

    Chat& chat_;
    std::size_t stored_text_ = 0;  ///< of full_response
    core::DraftKeeper draft_{{.timers = chat_.loop_.timers(),
                              .clock = chat_.loop_.clock(),
                              .store_pool = chat_.hub_.services().store_pool,
                              .chats = chat_.hub_.services().chats},
                             [this] { return draft(); }};
    bool debug_sent_ = false;
    std::map<std::string, std::string, std::less<>> call_ids_;  ///< by the model's ids
    std::string presentation_of_, presentation_;  ///< of the result that is told next
    std::vector<std::string> presentations_;  ///< that are kept with the answer
    std::size_t kept_bytes_ = 0;  ///< of them
    std::optional<PendingQuestion> wanted_;  ///< what the agent asks
    Waiter answered_{chat_.loop_.timers()};
    std::vector<core::ApprovalQuestion> asked_;  ///< open, for a connection that returns
};

Chat::Chat(Hub& hub, net::EventLoop& loop, core::TurnRunner& runner, core::PrincipalRef principal,
           core::ChatSession session)
    : hub_(hub),
      loop_(loop),
      runner_(runner),
      principal_(std::move(principal)),
      session_(std::move(session)),
      tasks_(loop.executor()) {}

Chat::~Chat() = default;

/// Runs `function()` on the chat's loop: now if this is it, else soon.
template <class F>
void Chat::on_loop(F function) {
    if (loop_.in_this_thread()) {
        function();
    } else {
        loop_.post([self = shared_from_this(), work = std::move(function)]() mutable { work(); });
    }
}

core::ChatSession Chat::session() const {
    const std::scoped_lock lock(mutex_);
    return session_;
}

void Chat::rename(std::string name) {
    const std::scoped_lock lock(mutex_);
    session_.name = std::move(name);
}

void Chat::forget_history() {
    const std::scoped_lock lock(mutex_);
    session_.message_count = 0;
    session_.name.clear();
    forgotten_ = true;
}

std::optional<Chat::RunningTurn> Chat::running_turn() const {
    const std::scoped_lock lock(mutex_);
    return running_info_;
}

void Chat::refuse(const ChatQuestion& question, std::string_view code, std::string_view message) {
    std::string frame;
    write_error(frame, code, message);
    question.asker->send_frame(std::move(frame));
    if (question.on_end)
        question.on_end(fail(ErrorCode::kRateLimited, std::string(message)), false);
}

void Chat::ask(ChatQuestion question) {
    on_loop([this, asked = std::move(question)]() mutable {
        const auto options = hub_.options();
        if (current_ && waiting_.size() >= options->waiting_turns) {
            refuse(asked, "SESSION_BUSY",
                   "too many turns wait in this chat session; ask again later");
            return;
        }
        waiting_.push_back(std::make_unique<Waiting>(*this, std::move(asked)));
        if (current_) {
            loop_.timers().arm(*waiting_.back(), loop_.clock().steady_now() + options->turn_wait);
        } else {
            start_next();
        }
    });
}

/// The asker may have lost its link while its question waited: then its frames go to a connection
/// that returned, or wait for one. False when nobody came back in the grace period.
bool Chat::find_asker(Turn& turn) {
    const ConnectionId asker = turn.question.asker->connection();
    const bool here =
        asker == ConnectionId{} || std::ranges::any_of(targets_, [&](const auto& target) {
            return target->connection() == asker;
        });
    if (here) return true;
    if (!targets_.empty()) {
        turn.go_on_with(targets_.back());
    } else if (turn.question.detached != nullptr) {
        turn.target = nullptr;
    } else if (loop_.clock().steady_now() < empty_until_) {
        turn.wait_for_return(empty_until_);
    } else {
        if (turn.question.on_end)
            turn.question.on_end(
                fail(ErrorCode::kCancelled, "no client is connected to receive the answer"), false);
        return false;
    }
    return true;
}

void Chat::start_next() {
    while (!current_ && !waiting_.empty()) {
        const auto next = std::move(waiting_.front());
        waiting_.pop_front();
        current_ = std::make_shared<Turn>(*this, std::move(next->question));
        if (!find_asker(*current_)) {
            current_ = nullptr;
            continue;
        }
        current_->story = {.turn_id = std::string(loop_.ids().uuid_v7().view()),
                           .tenant = {},
                           .agent = {},
                           .session = id(),
                           .principal = principal_->id,
                           .begun = loop_.clock().system_now()};
        {
            const std::scoped_lock lock(mutex_);
            running_info_ = RunningTurn{.turn_id = current_->story.turn_id,
                                        .started_at = current_->story.begun};
        }
        state_ = ChatState::kRunning;
        tasks_.spawn("chat turn", run_turn(current_), shared_from_this());
    }
    // nobody is left of those who waited
    if (!current_ && state_ == ChatState::kRunning) state_ = ChatState::kIdle;
}

core::NewChatSession Chat::stored_form() const {
    const std::scoped_lock lock(mutex_);
    return {.id = session_.id,
            .owner = session_.owner,
            .name = session_.name,
            .persona = session_.persona,
            .created_at = session_.created_at};
}

void Chat::store(core::ChatMessage message) {
    message.created_at = loop_.clock().system_now();
    if (message.role != "user" && forgotten_) return;  // the session was deleted while its turn ran
    forgotten_ = false;
    {
        const std::scoped_lock lock(mutex_);
        if (core::is_shown(message.role, message.content)) ++session_.message_count;
        session_.last_activity = message.created_at;
    }
    core::NewChatSession session = stored_form();
    hub_.services().store_pool.post(
        [&store = hub_.services().chats, session = std::move(session),
         message = std::move(message)] { (void)store.append(session, message); });
}

/// Names a chat session that has no name after the question that was answered first.
void Chat::give_title(Turn& turn) {
    if (!hub_.options()->give_titles || turn.question.content.empty()) return;
    const std::string title = title_from(turn.question.content);
    {
        const std::scoped_lock lock(mutex_);
        if (!session_.name.empty() || title.empty()) return;
        session_.name = title;
    }
    hub_.services().store_pool.post([&store = hub_.services().chats, id = ChatSessionId(id()),
                                     title] { (void)store.rename(id, title); });
    turn.write([&](std::string& out) { write_title_updated(out, title); });
}

void Chat::begin_turn(Turn& turn, const core::TurnAgent& agent) {
    told_aborted_ = {};
    turn.story.agent = agent.name;
    turn.story.tenant = principal_->tenant_for(agent.tenant);
    if (core::TurnLog* const log = hub_.services().turn_log) log->begun(turn.story);
    turn.write([&](std::string& out) { write_agent(out, true, agent.provider, agent.model); });
}

/// Stores the last words and tells the asker how it ended.
void Chat::end_turn(Turn& turn, Result<std::string>& answer, bool cancelled) {
    const std::string said = turn.unstored_text();
    const auto close = [&](std::string_view note) {
        turn.store("assistant",
                   said.empty() ? std::string(note) : fmt::format("{}\n{}", said, note),
                   token_of(answer.error().code));
    };
    if (cancelled) {
        answer = fail(ErrorCode::kCancelled, "the turn was aborted");
        close(stopping_ && !turn.aborted ? kStopped : kInterrupted);
        turn.write([&](std::string& out) { write_plain(out, "aborted"); });
        if (turn.target && !turn.ended_by_asker)
            told_aborted_ = {turn.target->connection(), loop_.clock().steady_now()};
    } else if (answer) {
        if (turn.full_response.empty()) turn.full_response = *answer;
        turn.store("assistant", turn.unstored_text(), "answer");
        turn.write([&](std::string& out) { write_plain(out, "chunk_reset"); });
        turn.write([&](std::string& out) {
            write_done(out, turn.full_response, turn.metrics ? &*turn.metrics : nullptr);
        });
    } else {
        if (!said.empty()) close(kBrokeOff);
        turn.write([&](std::string& out) {
            write_error(out, turn_code(answer.error().code), answer.error().message);
        });
    }
}

/// Stores the question, or finds the one that is to be answered again; why there is none to answer,
/// if so.
Task<std::optional<Chat::Refused>> Chat::take_question(Turn& turn, core::TurnRequest& request) {
    if (hub_.services().chats.is_shared()) {
        if (auto refused = co_await claim()) co_return refused;
    }
    if (request.regenerate) {
        auto reopen = [&store = hub_.services().chats, session_id = ChatSessionId(id())] {
            return store.reopen(session_id);
        };
        auto last = co_await hub_.services().store_pool.run(std::move(reopen));
        if (!last || !*last)
            co_return Refused{
                .code = "NO_USER_MESSAGE",
                .message = "there is no user message to answer again; send a message first"};
        request.content = std::move((*last)->content);
        const std::scoped_lock lock(mutex_);
        session_.message_count = (*last)->message_count;
        co_return std::nullopt;
    }
    if (!turn.question.pictures.empty() || !turn.question.files.empty()) {
        if (auto refused = co_await find_pictures(turn, request.extra)) co_return refused;
    }
    turn.store("user", request.content, {}, request.extra);
    co_return std::nullopt;
}

/// The chat is this node's until the turn is over; why it is not, if so.
Task<std::optional<Chat::Refused>> Chat::claim() {
    auto claim = [&store = hub_.services().chats, session = stored_form(),
                  now = loop_.clock().system_now()] { return store.claim(session, now); };
    const auto claimed = co_await hub_.services().store_pool.run(std::move(claim));
    if (!claimed) {
        const Error& why = claimed.error();
        const bool busy = why.code == ErrorCode::kConflict;
        co_return Refused{.code = busy ? "SESSION_BUSY" : turn_code(why.code),
                          .message = why.message};
    }
    // Another node may have gone on with it.
    const std::scoped_lock lock(mutex_);
    session_.message_count = claimed->message_count;
    session_.name = claimed->name;
    co_return std::nullopt;
}

/// Makes what belongs to a message with pictures or files; nothing of it is left out in silence.
Task<std::optional<Chat::Refused>> Chat::find_pictures(Turn& turn, std::string& extra) {
    const std::vector<std::string>& wanted = turn.question.pictures;
    if (!wanted.empty() && !runner_.agent_of(session().persona).sees_pictures) {
        co_return Refused{.code = "IMAGE_MODEL_UNSUPPORTED",
                          .message =
                              "the model of this chat sees no pictures; send the message without "
                              "them, or configure a model with vision: true"};
    }
    extra = R"({"attachments":[)";
    for (const std::string& picture : wanted) {
        auto find = [&store = hub_.services().chats, session_id = ChatSessionId(id()), picture] {
            return store.find_picture(session_id, picture);
        };
        const auto found = co_await hub_.services().store_pool.run(std::move(find));
        if (!found || !*found)
            co_return Refused{.code = "INVALID_IMAGE_MESSAGE",
                              .message =
                                  "a picture is not there (any more), or belongs to another chat "
                                  "session; upload it again"};
        if (extra.back() != '[') extra += ',';
        core::append_picture(extra, (*found)->picture);
    }
    extra += ']';
    if (!turn.question.files.empty()) extra += R"(,"files":)" + turn.question.files;
    extra += '}';
    co_return std::nullopt;
}

core::TurnRequest Chat::request_for(Turn& turn) const {
    core::TurnRequest request{.principal = principal_,
                              .session_id = id(),
                              .turn_id = turn.story.turn_id,
                              .persona = session().persona,
                              .content = turn.question.content,
                              .regenerate = turn.question.regenerate,
                              .debug = turn.question.debug,
                              .prefer_source = turn.question.prefer_source,
                              .prefer_connection = turn.question.asker->connection(),
                              .approver = &turn,
                              .traceparent = turn.question.traceparent};
    if (turn.question.asker->takes_questions()) request.asker = &turn;
    return request;
}

/// Lets the agent answer, and waits while somebody may still come back for the answer.
Task<Chat::Ending> Chat::run_agent(Turn& turn, core::TurnRequest request) {
    TaskChain& chain = co_await this_chain();
    const core::TurnAgent agent = runner_.agent_of(request.persona);
    begin_turn(turn, agent);
    Ending ending;
    try {
        if (!turn.aborted && !chain.cancelled())
            ending.answer = co_await runner_.run(std::move(request), turn);
    } catch (const std::exception& failure) {
        log::error("a turn failed unexpectedly",
                   {{"turn_id", turn.story.turn_id}, {"reason", failure.what()}});
        ending.answer = fail(ErrorCode::kInternal, "the turn failed unexpectedly");
    }
    ending.cancelled = turn.aborted || chain.cancelled();
    chain.forget_cancellation();
    // Whoever came back may leave again, and come back.
    while (!ending.cancelled && turn.gone_until) {
        if (co_await turn.returned.wait(*turn.gone_until) != WaitEnd::kWoken) break;
        ending.cancelled = turn.aborted;
        chain.forget_cancellation();
    }
    end_turn(turn, ending.answer, ending.cancelled);
    turn.write([&](std::string& out) { write_agent(out, false, agent.provider, agent.model); });
    if (ending.answer) give_title(turn);
    co_return ending;
}

/// The turn is over for everybody who asks this chat.
void Chat::leave_turn(Turn& turn, const Ending& ending) {
    {
        const std::scoped_lock lock(mutex_);
        running_info_.reset();
    }
    // While others wait the chat is not at rest, and must not be settled.
    const bool failed = !ending.answer && !ending.refused && !ending.cancelled;
    if (waiting_.empty()) state_ = failed ? ChatState::kError : ChatState::kIdle;
    if (turn.question.on_end) turn.question.on_end(ending.answer, turn.called_tools);
    current_ = nullptr;
}

Task<void> Chat::run_turn(std::shared_ptr<Turn> turn) {
    const auto self = shared_from_this();
    Ref chat_ref(self);
    core::TurnRequest request = request_for(*turn);
    const std::optional<Refused> refused = co_await take_question(*turn, request);
    Ending ending;
    if (refused) {
        turn->write([&](std::string& out) { write_error(out, refused->code, refused->message); });
        ending.answer = fail(ErrorCode::kInvalidArgs, refused->message);
        ending.refused = true;
    } else {
        ending = co_await run_agent(*turn, std::move(request));
    }
    const Result<std::string>& answer = ending.answer;
    const core::TurnEnd end{
        .at = loop_.clock().system_now(),
        .outcome = answer ? "answer" : std::string(token_of(answer.error().code)),
        .text = answer ? turn->full_response : answer.error().message};
    leave_turn(*turn, ending);
    if (hub_.services().chats.is_shared())  // after all that was said is stored
        hub_.services().store_pool.post(
            [&store = hub_.services().chats, session = ChatSessionId(id())] {
                (void)store.release(session);
            });
    // The hub knows whose chat it is from this object or from the store, so what was said is stored
    // before this one may go. Which of the two is done first is open, so each of them settles.
    loop_.post([self] {
        self->start_next();
        self->hub_.settle_chat(self);
    });
    (void)co_await hub_.services().store_pool.run([] { return true; });
    if (hub_.services().turn_log && !refused) hub_.services().turn_log->ended(turn->story, end);
    chat_ref.release();
    hub_.settle_chat(self);
}

void Chat::abort(std::function<void(bool)> acknowledge, ConnectionId from) {
    on_loop([this, reply = std::move(acknowledge), from] {
        const bool running = current_ && !current_->aborted;
        const bool own = current_ && from != ConnectionId{} && current_->target &&
                         current_->target->connection() == from;
        // Who stops by REST and by a frame, in whatever order they come, has heard of it by then.
        const bool heard = !running && from != ConnectionId{} && from == told_aborted_.first &&
                           loop_.clock().steady_now() < told_aborted_.second + kOneStop;
        if (heard) told_aborted_ = {};
        if (own) current_->ended_by_asker = true;
        if (!own && !heard) reply(running);
        if (!running) return;
        current_->aborted = true;
        tasks_.cancel();
    });
}

void Chat::respond(QuestionResponse response,
                   std::function<void(std::string_view, std::string_view)> tell) {
    on_loop([this, given = std::move(response), reply = std::move(tell)] {
        const auto [status, error] =
            current_ ? current_->respond(given)
                     : std::pair<std::string_view, std::string>("not_pending", {});
        // before the turn goes on: what the answer led to comes after its acknowledgement
        reply(status, error);
        if (status == "accepted" && current_) current_->go_on_after_response();
    });
}

void Chat::withdraw(const std::shared_ptr<FrameTarget>& asker) {
    on_loop([this, asker] {
        std::erase_if(waiting_,
                      [&](const auto& waiting) { return waiting->question.asker == asker; });
        if (!current_ || current_->question.asker != asker || current_->aborted) return;
        current_->aborted = true;
        tasks_.cancel();
    });
}

void Chat::join(std::shared_ptr<FrameTarget> target) {
    on_loop([this, joined = std::move(target)] {
        targets_.push_back(joined);
        if (current_ && current_->waits_for_somebody()) current_->go_on_with(joined);
    });
}

void Chat::leave(ConnectionId connection, bool goodbye) {
    on_loop([this, connection, goodbye] {
        std::erase_if(targets_,
                      [&](const auto& target) { return target->connection() == connection; });
        std::erase_if(waiting_, [&](const auto& waiting) {
            return goodbye && waiting->question.detached == nullptr &&
                   waiting->question.asker->connection() == connection;
        });
        empty_until_ = loop_.clock().steady_now() + hub_.options()->grace;
        if (!current_ || !current_->target || current_->target->connection() != connection) return;
        const bool detached = current_->question.detached != nullptr;
        if (goodbye && !detached) {
            current_->target = nullptr;
            tasks_.cancel();
        } else if (!targets_.empty()) {
            current_->go_on_with(targets_.back());
        } else if (detached) {
            current_->target = nullptr;
        } else {
            current_->wait_for_return(empty_until_);
        }
    });
}

void Chat::revoke(const std::string& credential_id) {
    on_loop([this, credential_id] {
        const auto is_its = [&](const ChatQuestion& question) {
            return question.detached != nullptr && question.credential_id == credential_id;
        };
        std::erase_if(waiting_, [&](const auto& waiting) { return is_its(waiting->question); });
        if (!current_ || !is_its(current_->question) || current_->aborted) return;
        current_->aborted = true;
        tasks_.cancel();
    });
}

void Chat::stop(std::function<void()> done) {
    on_loop([this, finished = std::move(done)]() mutable {
        waiting_.clear();
        stopping_ = true;
        tasks_.stop(std::move(finished));
    });
}

}  // namespace crab::clawseed
