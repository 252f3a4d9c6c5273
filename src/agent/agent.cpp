#include "agent/agent.hpp"

#include "agent/chat_completions.hpp"
#include "agent/history.hpp"
#include "agent/tool_batch.hpp"
#include "agent/tool_output.hpp"
#include "base/cut_text.hpp"
#include "base/encoding.hpp"
#include "base/log.hpp"
#include "base/task/run_within.hpp"
#include "core/approvals/asked_question.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <span>

#include <fmt/format.h>

namespace crab::agent {
namespace {

constexpr std::size_t kMostId = 64;
constexpr std::string_view kInstructions =
    "You help a person who reaches you through a gateway. The tools you are offered run on that "
    "person's devices and services; use "
    "them when they help, several at once where they do not depend on each other. An output that "
    "begins with `Error:` says why a "
    "call failed and what to do about it: fix the arguments, or say plainly what did not work. "
    "Never make up what a tool would say.";

/// Passes an answer on while it is being made.
class AnswerForwarder final : public AnswerSink {
public:
    AnswerForwarder(core::TurnEvents& events, const Clock& clock)
        : events_(events), clock_(clock) {}
    void on_text(std::string_view piece) override {
        hear();
        events_.on_chunk(piece);
    }
    void on_thinking(std::string_view piece) override {
        hear();
        events_.on_thinking(piece);
    }
    /// Since the first piece.
    Milliseconds generating() const {
        return first_ ? std::chrono::duration_cast<Milliseconds>(clock_.steady_now() - *first_)
                      : Milliseconds(0);
    }

private:
    void hear() {
        if (!first_) first_ = clock_.steady_now();
    }
    core::TurnEvents& events_;
    const Clock& clock_;
    std::optional<SteadyTime> first_;
};

constexpr std::size_t kMostShownPictures = 8;
constexpr std::size_t kMostShownBytes = std::size_t{20} << 20;   // of their base64
constexpr std::size_t kMostQuestions = 8;                        // to a person in one turn
constexpr Milliseconds kQuestionTime{300'000};

OfferedToolRef question_tool() {
    static const OfferedToolRef tool = std::make_shared<const OfferedTool>(OfferedTool{
        .name = std::string(core::kAskUser),
        .description =
            "Asks the person of this chat one question and gives the answer, when you cannot go on "
            "without their word. Never ask for passwords, keys or payment details.",
        .schema = std::string(core::kAskUserSchema)});
    return tool;
}

Error too_late() {
    return {.code = ErrorCode::kTimeout,
            .message = "the turn took too long and was ended",
            .details = {},
            .retryable = {},
            .retry_after = {}};
}
Error empty_answer(const ModelAnswer& answer) {
    if (answer.withheld)
        return fail(ErrorCode::kUnavailable,
                    "the model's vendor withheld the answer; ask in another way")
            .error();
    if (answer.cut_short)
        return fail(ErrorCode::kUnavailable,
                    "the model reached its limit of length before it said anything; raise "
                    "max_output_tokens of this model")
            .error();
    return fail(ErrorCode::kUnavailable, "the model gave an empty answer; ask again").error();
}
std::unexpected<Error> cancelled() { return fail(ErrorCode::kCancelled, "the turn was cancelled"); }

}  // namespace

/// State of a running turn.
struct Agent::Turn {
    /// A call that the model wants, and why it is not made, if it is not.
    struct PlannedCall {
        ToolRequest request;
        std::string refusal;
        bool finds = false;   ///< it is find_tools, which the turn answers itself
        bool asks = false;    ///< it is ask_user, which the person answers
    };
    Turn(core::TurnRequest asked, const AgentOptions& agent, core::TurnEvents& told, Deadline until,
         std::optional<TurnTrace> traced)
        : request(std::move(asked)),
          options(agent),
          events(told),
          deadline(until),
          trace(std::move(traced)),
          access(request, options, trace ? trace->traceparent() : request.traceparent) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    const core::TurnRequest request;
    const AgentOptions& options;
    core::TurnEvents& events;
    const Deadline deadline;
    std::optional<TurnTrace> trace;  ///< nothing: no spans are exported
    const ToolAccess access;
    Conversation conversation{};
    std::unordered_set<std::string> ids{};   ///< of all requests in the conversation
    RepeatGuard guard{};
    std::vector<PlannedCall> wanted{};
    ToolOffer offer{};
    /// Of what can be found; null while all tools are offered
    std::shared_ptr<const core::ToolCatalog> catalog{};
    std::vector<std::string> used{};  ///< tools that were found or called, the latest last
    ModelUsage usage{};
    core::TurnMetrics metrics{};
    std::size_t questions = 0;
    bool may_ask = false;
    std::size_t rounds = 0;
    std::size_t calls = 0;
};

core::TurnAgent Agent::agent_of(std::string_view persona) {
    const AgentOptions& options = agents_->find_or_standard(persona);
    const ModelClient& first = models_.at(options.models.front());
    return {.name = options.name,
            .tenant = options.tenant,
            .provider = std::string(first.provider()),
            .model = std::string(first.model()),
            .sees_pictures = sees(options),
            .reads_files = true,
            .asks = options.may_ask};
}

bool Agent::sees(const AgentOptions& options) const {
    return std::ranges::any_of(options.models,
                               [this](std::size_t place) { return models_.at(place).sees(); });
}

/// Which models are asked: while there are pictures in this turn, those that see them.
std::vector<std::size_t> Agent::order_of(const Turn& turn) const {
    const Conversation& messages = turn.conversation;
    bool pictures = false;
    for (std::size_t i = messages.size(); i > 0 && !pictures; --i) {
        pictures = has_shown(messages[i - 1]);
        if (messages[i - 1].role == MessageRole::kUser) break;
    }
    std::vector<std::size_t> order = turn.options.models;
    if (pictures)
        std::erase_if(order, [this](std::size_t place) { return !models_.at(place).sees(); });
    return order.empty() ? turn.options.models : order;
}

/// Reads the latest pictures of the conversation for models that see, and says which are left out.
Task<void> Agent::load_pictures(Turn& turn) {
    std::vector<std::string> left_out;
    std::size_t shown = 0, bytes = 0;
    bool any = false;
    const bool seeing = sees(turn.options);
    for (Message& message : std::views::reverse(turn.conversation)) {
        std::size_t missing = 0;
        for (Picture& picture : message.pictures) {
            using Base64 = std::shared_ptr<const std::string>;
            any = true;
            if (seeing && shown < kMostShownPictures && bytes < kMostShownBytes) {
                auto read = [&chats = services_.chats, id = ChatSessionId(turn.request.session_id),
                             picture = picture.id]() -> Result<Base64> {
                    const auto found = chats.find_picture(id, picture);
                    if (!found || !*found) return Base64();
                    const std::string& content = (*found)->bytes;
                    return std::make_shared<const std::string>(to_base64(std::span(
                        reinterpret_cast<const std::uint8_t*>(content.data()), content.size())));
                };
                auto loaded = co_await run_within(services_.store_pool, std::move(read),
                                                  services_.loop.timers(), turn.deadline);
                if (loaded) picture.base64 = std::move(*loaded);
            }
            if (picture.base64) {
                ++shown;
                bytes += picture.base64->size();
            } else {
                ++missing;
                left_out.push_back(picture.id);
            }
        }
        if (missing > 0)
            message.text +=
                fmt::format("{}[{} of the pictures here {} not shown to you]",
                            message.text.empty() ? "" : "\n", missing, missing == 1 ? "is" : "are");
    }
    if (any) turn.events.on_pictures_left_out(left_out);
}

/// The picture that a tool gave. A reference to one stays that where no model of the turn sees: it
/// can be passed on.
Task<std::optional<ToolPicture>> Agent::find_picture(Turn& turn, const core::Outcome& outcome) {
    if (!outcome) co_return std::nullopt;
    const auto artifact = services_.artifacts != nullptr && sees(turn.options)
                              ? picture_artifact(*outcome)
                              : std::nullopt;
    if (!artifact) co_return inline_picture(*outcome);
    using Found = std::optional<ToolPicture>;
    auto read = [&store = *services_.artifacts, id = *artifact]() -> Result<Found> {
        const auto opened = store.open(id);
        if (!opened || (*opened)->artifact().bytes > core::kMostPictureBytes) return Found();
        auto bytes = (*opened)->read(0, core::kMostPictureBytes);
        if (!bytes) return Found();
        return inline_picture(core::ToolResult{.kind = core::ContentKind::kBytes,
                                               .content = std::move(*bytes),
                                               .content_type = (*opened)->artifact().content_type,
                                               .logs = {},
                                               .usage = {}});
    };
    auto found = co_await run_within(*services_.artifact_pool, std::move(read),
                                     services_.loop.timers(), turn.deadline);
    co_return found ? std::move(*found) : std::nullopt;
}

/// The outcome of ask_user, as the model reads it.
Task<std::string> Agent::ask_person(Turn& turn, const ToolRequest& request) {
    if (++turn.questions > kMostQuestions)
        co_return fmt::format(
            "Error: RATE_LIMITED: the person was asked {} times in this turn; go on with what you "
            "know",
            kMostQuestions);
    std::optional<Result<core::AskedQuestion>> question;
    {
        const auto root = parser_.parse(request.args);
        question = root ? core::read_question(root->element())
                        : fail(ErrorCode::kInvalidArgs, "the arguments are not JSON");
    }
    if (!*question) co_return "Error: INVALID_ARGS: " + question->error().message;
    (*question)->tool_call_id = request.id;
    const Deadline until =
        std::min(turn.deadline, services_.loop.clock().steady_now() + kQuestionTime);
    core::AskedQuestion asked = std::move(**question);
    co_return co_await turn.request.asker->ask(std::move(asked), until);
}

/// Loads as much history as fits the context.
Task<Result<void>> Agent::begin(Turn& turn) {
    const std::size_t most_bytes = turn.options.context_tokens * kBytesPerToken;
    auto read = [&store = services_.chats, id = ChatSessionId(turn.request.session_id),
                 most_bytes] { return store.latest(id, most_bytes); };
    const auto stored = co_await run_within(services_.store_pool, std::move(read),
                                            services_.loop.timers(), turn.deadline);
    if (!stored) co_return fail(stored.error());
    turn.conversation = to_conversation(*stored);
    const bool asked =
        !turn.conversation.empty() && turn.conversation.back().role == MessageRole::kUser;
    if (!asked) {  // the store has not taken it
        const core::ChatMessage question{.role = "user",
                                         .content = turn.request.content,
                                         .created_at = {},
                                         .extra = turn.request.extra};
        turn.conversation.push_back(to_conversation(std::span(&question, 1)).front());
    }
    co_await load_pictures(turn);
    const Message& question = turn.conversation.back();
    if (!question.pictures.empty() && !has_shown(question))
        co_return fail(ErrorCode::kInvalidArgs,
                       "no model of this agent sees the pictures of the question; set vision: true "
                       "for one that does");
    for (const Message& message : turn.conversation) {
        for (const ToolRequest& each : message.requests) {
            turn.ids.insert(each.id);
            if (each.tool != kFindTools) turn.used.push_back(each.tool);
        }
    }
    co_return Result<void>();
}

/// The tools to offer to the model now.
void Agent::offer_tools(Turn& turn) {
    const auto listed = services_.pipeline.list_for(turn.access.view());
    const bool searched = turn.offer.searched;
    turn.offer = offers_.offer(listed, turn.options, turn.used);
    turn.catalog = turn.offer.searched ? offers_.catalog(listed) : nullptr;
    turn.may_ask =
        turn.request.asker != nullptr && turn.options.may_ask &&
        std::ranges::none_of(listed, [](const auto& each) { return each.name == core::kAskUser; });
    if (turn.may_ask) {
        turn.offer.tools.push_back(question_tool());
        turn.offer.tokens += estimated_tokens(*question_tool());
    }
    if (!turn.offer.searched || searched) return;
    services_.metrics.searched_turns.add();
    log::info("a turn offers find_tools in place of tools",
              {{"session_id", turn.request.session_id},
               {"agent_id", turn.options.name},
               {"tools", turn.offer.visible},
               {"tokens", turn.offer.visible_tokens},
               {"offered", turn.offer.tools.size()},
               {"offered_tokens", turn.offer.tokens}});
}

/// The outcome of find_tools, as the model reads it; what is found is offered from the next request
/// on.
Task<std::string> Agent::find_tools(Turn& turn, std::string_view args) {
    constexpr std::int64_t kUsual = 8, kMost = 20;
    const auto root = parser_.parse(args);
    std::string query(root ? json::get_string(root->element(), "query").value_or("") : "");
    if (query.empty())
        co_return "Error: INVALID_ARGS: /query: required, a string that says what the tool should "
                  "do";
    const std::int64_t limit = std::clamp(
        json::get_int64(root->element(), "limit").value_or(kUsual), std::int64_t{1}, kMost);
    auto look = [&index = services_.index, catalog = turn.catalog, words = std::move(query),
                 most = static_cast<std::size_t>(limit)] {
        return index.find(catalog, words, most);
    };
    // what has begun is waited for: the index lives no longer than the agent
    const auto found =
        co_await services_.pool.run_by(std::move(look), services_.loop.timers(), turn.deadline);
    if (!found || !*found) co_return "Error: INTERNAL: the tools cannot be searched now";
    // the best last, which comes first
    const std::vector<std::string>& names = **found;
    turn.used.insert(turn.used.end(), names.rbegin(), names.rend());
    co_return found_text(*turn.catalog, names);
}

/// Normalizes the model's requests for the conversation: ids are unique, arguments are objects.
void Agent::take_requests(Turn& turn, ModelAnswer& answer) {
    turn.wanted.clear();
    for (ToolRequest& request : answer.requests) {
        Turn::PlannedCall wanted{.request = std::move(request), .refusal = {}};
        if (wanted.request.id.empty() || wanted.request.id.size() > kMostId ||
            turn.ids.contains(wanted.request.id)) {
            wanted.request.id = fmt::format("call_{}", services_.loop.ids().uuid_v7().view());
        }
        turn.ids.insert(wanted.request.id);
        std::string& args = wanted.request.args;
        if (args.empty() || args == "null") args = "{}";
        const auto root = parser_.parse(args);
        if (!root) {
            wanted.refusal =
                "Error: INVALID_ARGS: the arguments are not JSON; call again with one complete "
                "JSON object";
        } else if (!root->element().is_object()) {
            wanted.refusal =
                "Error: INVALID_ARGS: the arguments are no JSON object; call again with one";
        } else if (turn.guard.holds(wanted.request)) {
            wanted.refusal = fmt::format(
                "Error: FORBIDDEN: exactly this call has failed {} times in this turn and was not "
                "made again; change it or go on without it",
                RepeatGuard::kMost);
        }
        if (!root || !root->element().is_object()) args = "{}";
        wanted.finds = turn.catalog != nullptr && wanted.request.tool == kFindTools;
        wanted.asks = turn.may_ask && wanted.request.tool == core::kAskUser;
        if (!wanted.finds && !wanted.asks) turn.used.push_back(wanted.request.tool);
        turn.wanted.push_back(std::move(wanted));
    }
}

/// Reports the batch, runs it, reports the outcomes in the model's order. False when the turn was
/// cancelled.
Task<bool> Agent::run_tools(Turn& turn) {
    std::vector<const ToolRequest*> to_make;
    for (Turn::PlannedCall& wanted : turn.wanted) {
        if (wanted.refusal.empty() && !wanted.finds && !wanted.asks) {
            wanted.request.call_id = services_.loop.ids().uuid_v7();
            turn.events.on_call_id(wanted.request.id, wanted.request.call_id->view());
            to_make.push_back(&wanted.request);
        }
        turn.events.on_tool_call(wanted.request.id, wanted.request.tool, wanted.request.args);
    }
    turn.calls += to_make.size();
    ToolBatch batch(services_.calls, services_.loop, turn.access, turn.deadline);
    const std::vector<core::Outcome> outcomes = co_await batch.run(to_make);
    const TaskChain& chain = co_await this_chain();
    auto outcome = outcomes.begin();
    for (Turn::PlannedCall& wanted : turn.wanted) {
        std::string output = std::move(wanted.refusal);
        std::vector<Picture> pictures;
        if (output.empty() && wanted.finds) {
            output = co_await find_tools(turn, wanted.request.args);
        } else if (output.empty() && wanted.asks) {
            output = co_await ask_person(turn, wanted.request);
        } else if (output.empty()) {
            turn.guard.ended(wanted.request, !outcome->has_value());
            if (auto picture = co_await find_picture(turn, *outcome)) {
                const bool shown = sees(turn.options);
                output = picture_note(picture->picture, shown);
                if (shown)
                    pictures.push_back({.mime_type = picture->picture.mime_type,
                                        .base64 = std::make_shared<const std::string>(
                                            std::move(picture->base64))});
            } else {
                output = shown_to_model(*outcome, turn.options.output_bytes);
            }
            if (const auto* extras = *outcome ? (*outcome)->extras.get() : nullptr;
                extras != nullptr && !extras->presentation.empty()) {
                turn.events.on_presentation(wanted.request.id, extras->presentation);
            }
            ++outcome;
        }
        if (!chain.cancelled())
            turn.events.on_tool_result(wanted.request.id, wanted.request.tool, output);
        turn.events.on_message("tool", output, result_extra(wanted.request));
        turn.conversation.push_back({.role = MessageRole::kTool,
                                     .text = std::move(output),
                                     .requests = {},
                                     .request_id = wanted.request.id,
                                     .tool = wanted.request.tool,
                                     .reasoning = {},
                                     .pictures = std::move(pictures)});
    }
    co_return !chain.cancelled();
}

/// Asks as a span of its own, if spans are exported; else under that of who asked.
Task<Result<ModelAnswer>> Agent::ask_models(Turn& turn, const ModelRequest& request,
                                            AnswerSink& sink) {
    const std::vector<std::size_t> order = order_of(turn);
    services_.metrics.model_requests.add();
    ModelRequest traced = request;
    const std::string traceparent = turn.trace
                                        ? turn.trace->begin_request(models_.at(order.front()))
                                        : turn.request.traceparent;
    traced.traceparent = traceparent;
    auto answer = co_await models_.ask(order, traced, sink, turn.deadline);
    if (turn.trace) turn.trace->end_request(answer);
    co_return answer;
}

/// The reported cost of a turn: the input of the last request, the output of all; only what the
/// vendor reported.
void Agent::count(Turn& turn, const ModelUsage& usage, Milliseconds generating) {
    core::TurnMetrics& metrics = turn.metrics;
    const bool first = turn.rounds == 0;
    metrics.generating += generating;
    metrics.input_tokens = usage.told ? std::optional(usage.input) : std::nullopt;
    metrics.cached_input_tokens = usage.told ? std::optional(usage.cached) : std::nullopt;
    const bool known = usage.told && (first || metrics.output_tokens);
    metrics.output_tokens =
        known ? std::optional(metrics.output_tokens.value_or(0) + usage.output) : std::nullopt;
}

Task<Result<std::string>> Agent::run_rounds(Turn& turn) {
    const AgentOptions& options = turn.options;
    TaskChain& chain = co_await this_chain();
    const std::string_view system =
        options.instructions.empty() ? kInstructions : std::string_view(options.instructions);
    std::string said;
    for (std::size_t round = 1; round <= options.max_rounds; ++round) {
        if (chain.cancelled()) co_return cancelled();
        if (services_.loop.clock().steady_now() >= turn.deadline) co_return fail(too_late());
        offer_tools(turn);
        const std::size_t fixed = estimated_tokens(system.size()) + turn.offer.tokens;
        trim(turn.conversation,
             options.context_tokens > fixed ? options.context_tokens - fixed : 0);
        if (round == 1 && turn.request.debug) {
            std::string prompt;
            append_chat_messages(prompt, system, turn.conversation, ToolNames{});
            turn.events.on_debug_prompt(
                prompt, static_cast<std::int64_t>(fixed + estimated_tokens(turn.conversation)));
        }
        const ModelRequest ask{.system = system,
                               .messages = turn.conversation,
                               .tools = turn.offer.tools,
                               .may_call = round < options.max_rounds};
        AnswerForwarder forwarder(turn.events, services_.loop.clock());
        auto answer = co_await ask_models(turn, ask, forwarder);
        if (chain.cancelled()) co_return cancelled();
        if (!answer && services_.loop.clock().steady_now() >= turn.deadline)
            co_return fail(too_late());
        if (!answer) co_return fail(std::move(answer.error()));
        turn.usage.input += answer->usage.input;
        turn.usage.output += answer->usage.output;
        count(turn, answer->usage, forwarder.generating());
        turn.rounds = round;
        said += answer->text;
        if (answer->requests.empty()) {
            if (said.empty()) co_return fail(empty_answer(*answer));
            co_return said;
        }
        take_requests(turn, *answer);
        std::vector<ToolRequest> requests;
        for (const Turn::PlannedCall& wanted : turn.wanted) requests.push_back(wanted.request);
        turn.events.on_message("assistant", answer->text, requests_extra(requests));
        turn.conversation.push_back({.role = MessageRole::kAssistant,
                                     .text = std::move(answer->text),
                                     .requests = std::move(requests),
                                     .request_id = {},
                                     .tool = {},
                                     .reasoning = std::move(answer->reasoning)});
        if (!co_await run_tools(turn)) co_return cancelled();
    }
    co_return fail(ErrorCode::kInternal,
                   fmt::format("the model asked for tools in each of {} rounds and gave no answer",
                               options.max_rounds));
}

Task<Result<std::string>> Agent::run(core::TurnRequest request, core::TurnEvents& events) {
    services_.metrics.turns.add();
    auto agent = agents_->find(request.persona);
    if (!agent) {
        services_.metrics.failed_turns.add();
        co_return fail(std::move(agent.error()));
    }
    const AgentOptions& options = **agent;
    std::optional<TurnTrace> trace;
    if (services_.tracer != nullptr)
        trace.emplace(*services_.tracer, services_.loop.clock(), request, options.name);
    Turn turn(std::move(request), options, events,
              services_.loop.clock().steady_now() + options.turn_timeout, std::move(trace));
    auto begun = co_await begin(turn);
    Result<std::string> answer = begun ? Result<std::string>() : fail(std::move(begun.error()));
    const SteadyTime start = services_.loop.clock().steady_now();
    if (begun) answer = co_await run_rounds(turn);
    turn.metrics.elapsed =
        std::chrono::duration_cast<Milliseconds>(services_.loop.clock().steady_now() - start);
    if (answer) events.on_metrics(turn.metrics);
    if (turn.trace) turn.trace->end(answer ? std::string_view() : token_of(answer.error().code));
    services_.metrics.tool_calls.add(turn.calls);
    services_.metrics.input_tokens.add(
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, turn.usage.input)));
    services_.metrics.output_tokens.add(
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, turn.usage.output)));
    if (!answer && answer.error().code != ErrorCode::kCancelled)
        services_.metrics.failed_turns.add();
    log::info("turn ended", {{"session_id", turn.request.session_id},
                             {"turn_id", turn.request.turn_id},
                             {"agent_id", options.name},
                             {"end", answer ? "answer" : token_of(answer.error().code)},
                             {"rounds", turn.rounds},
                             {"tool_calls", turn.calls},
                             {"input_tokens", turn.usage.input},
                             {"output_tokens", turn.usage.output}});
    co_return answer;
}

}  // namespace crab::agent
