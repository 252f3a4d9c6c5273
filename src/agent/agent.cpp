#include "agent/agent.hpp"

#include "agent/chat_completions.hpp"
#include "agent/history.hpp"
#include "agent/tool_batch.hpp"
#include "agent/tool_output.hpp"
#include "base/cut_text.hpp"
#include "base/log.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace crab::agent {
namespace {

constexpr std::size_t kMostId = 64;
constexpr std::string_view kInstructions =
    "You help a person who reaches you through a gateway. The tools you are offered run on that person's devices and services; use "
    "them when they help, several at once where they do not depend on each other. An output that begins with `Error:` says why a "
    "call failed and what to do about it: mend the arguments, or say plainly what did not work. Never make up what a tool would say.";

/// Passes an answer on while it is being made.
class Speech final : public AnswerSink {
public:
    explicit Speech(core::TurnEvents& events) : events_(events) {}
    void on_text(std::string_view piece) override { events_.on_chunk(piece); }
    void on_thinking(std::string_view piece) override { events_.on_thinking(piece); }

private:
    core::TurnEvents& events_;
};

Error too_late() { return {.code = ErrorCode::kTimeout, .message = "the turn took too long and was ended", .details = {}, .retryable = {}, .retry_after = {}}; }
Error empty_answer(const ModelAnswer& answer) {
    if (answer.withheld) return fail(ErrorCode::kUnavailable, "the model's vendor withheld the answer; ask in another way").error();
    if (answer.cut_short) return fail(ErrorCode::kUnavailable, "the model reached its limit of length before it said anything; raise max_output_tokens of this model").error();
    return fail(ErrorCode::kUnavailable, "the model gave an empty answer; ask again").error();
}
std::unexpected<Error> cancelled() { return fail(ErrorCode::kCancelled, "the turn was cancelled"); }

}  // namespace

/// What one turn knows while it runs.
struct Agent::Turn {
    /// A call that the model wants, and why it is not made, if it is not.
    struct Wanted {
        ToolRequest request;
        std::string refusal;
        bool finds = false;   ///< it is find_tools, which the turn answers itself
    };
    Turn(core::TurnRequest asked, const AgentOptions& agent, core::TurnEvents& told, Deadline until)
        : request(std::move(asked)), options(agent), events(told), deadline(until), access(request, options) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    const core::TurnRequest request;
    const AgentOptions& options;
    core::TurnEvents& events;
    const Deadline deadline;
    const ToolAccess access;
    Conversation conversation{};
    std::unordered_set<std::string> ids{};   ///< of all requests in the conversation
    FailureBrake brake{};
    std::vector<Wanted> wanted{};
    ToolOffer offer{};
    std::shared_ptr<const core::ToolCatalog> catalog{};   ///< of what can be found; null while all tools are offered
    std::vector<std::string> used{};         ///< tools that were found or called, the latest last
    ModelUsage usage{};
    std::size_t rounds = 0;
    std::size_t calls = 0;
};

core::TurnAgent Agent::agent_of(std::string_view persona) {
    const AgentOptions& options = agents_->find_or_standard(persona);
    const ModelClient& first = models_.at(options.models.front());
    return {.name = options.name, .tenant = options.tenant, .provider = std::string(first.provider()), .model = std::string(first.model())};
}

/// Reads as much of what was said before as has room in the context.
Task<Result<void>> Agent::begin(Turn& turn) {
    const std::size_t most_bytes = turn.options.context_tokens * kBytesPerToken;
    auto read = [&store = services_.chats, id = ChatSessionId(turn.request.session_id), most_bytes] { return store.latest(id, most_bytes); };
    const auto stored = co_await services_.store_pool.run(std::move(read));
    if (!stored) co_return fail(stored.error());
    turn.conversation = to_conversation(*stored);
    const bool asked = !turn.conversation.empty() && turn.conversation.back().speaker == Speaker::kUser;
    if (!asked) turn.conversation.push_back({.speaker = Speaker::kUser, .text = turn.request.content});  // the store has not taken it
    for (const Message& message : turn.conversation) {
        for (const ToolRequest& each : message.requests) {
            turn.ids.insert(each.id);
            if (each.tool != kFindTools) turn.used.push_back(each.tool);
        }
    }
    co_return Result<void>();
}

/// What the model may know of the tools that there are now.
void Agent::offer_tools(Turn& turn) {
    const auto listed = services_.pipeline.list_for(turn.access.view());
    const bool searched = turn.offer.searched;
    turn.offer = offers_.offer(listed, turn.options, turn.used);
    turn.catalog = turn.offer.searched ? offers_.catalog(listed) : nullptr;
    if (!turn.offer.searched || searched) return;
    services_.metrics.searched_turns.add();
    log::info("a turn offers find_tools in place of tools", {{"session_id", turn.request.session_id}, {"agent_id", turn.options.name}, {"tools", turn.offer.visible},
                                                             {"tokens", turn.offer.visible_tokens}, {"offered", turn.offer.tools.size()}, {"offered_tokens", turn.offer.tokens}});
}

/// The outcome of find_tools, as the model reads it; what is found is offered from the next request on.
Task<std::string> Agent::find_tools(Turn& turn, std::string_view args) {
    constexpr std::int64_t kUsual = 8, kMost = 20;
    const auto root = parser_.parse(args);
    std::string query(root ? json::get_string(root->element(), "query").value_or("") : "");
    if (query.empty()) co_return "Error: INVALID_ARGS: /query: required, a string that says what the tool should do";
    const std::int64_t limit = std::clamp(json::get_int64(root->element(), "limit").value_or(kUsual), std::int64_t{1}, kMost);
    auto look = [&index = services_.index, catalog = turn.catalog, words = std::move(query), most = static_cast<std::size_t>(limit)] { return index.find(catalog, words, most); };
    const auto found = co_await services_.pool.run(std::move(look));
    if (!found) co_return "Error: INTERNAL: the tools cannot be searched now";
    turn.used.insert(turn.used.end(), found->rbegin(), found->rend());  // the best last, which comes first
    co_return found_text(*turn.catalog, *found);
}

/// Makes what the model wants fit for the conversation: every id is there once, all arguments are objects.
void Agent::take_requests(Turn& turn, ModelAnswer& answer) {
    turn.wanted.clear();
    for (ToolRequest& request : answer.requests) {
        Turn::Wanted wanted{.request = std::move(request), .refusal = {}};
        if (wanted.request.id.empty() || wanted.request.id.size() > kMostId || turn.ids.contains(wanted.request.id)) {
            wanted.request.id = fmt::format("call_{}", services_.loop.ids().uuid_v7().view());
        }
        turn.ids.insert(wanted.request.id);
        std::string& args = wanted.request.args;
        if (args.empty() || args == "null") args = "{}";
        const auto root = parser_.parse(args);
        if (!root) {
            wanted.refusal = "Error: INVALID_ARGS: the arguments are not JSON; call again with one complete JSON object";
        } else if (!root->element().is_object()) {
            wanted.refusal = "Error: INVALID_ARGS: the arguments are no JSON object; call again with one";
        } else if (turn.brake.holds(wanted.request)) {
            wanted.refusal = fmt::format("Error: FORBIDDEN: exactly this call has failed {} times in this turn and was not made again; change it or go on without it", FailureBrake::kMost);
        }
        if (!root || !root->element().is_object()) args = "{}";
        wanted.finds = turn.catalog != nullptr && wanted.request.tool == kFindTools;
        if (!wanted.finds) turn.used.push_back(wanted.request.tool);
        turn.wanted.push_back(std::move(wanted));
    }
}

/// Tells of the batch, runs it, tells the outcomes in the model's order. False when the turn was cancelled.
Task<bool> Agent::run_tools(Turn& turn) {
    std::vector<const ToolRequest*> to_make;
    for (const Turn::Wanted& wanted : turn.wanted) {
        turn.events.on_tool_call(wanted.request.id, wanted.request.tool, wanted.request.args);
        if (wanted.refusal.empty() && !wanted.finds) to_make.push_back(&wanted.request);
    }
    turn.calls += to_make.size();
    ToolBatch batch(services_.pipeline, services_.loop, turn.access, turn.deadline);
    const std::vector<core::Outcome> outcomes = co_await batch.run(to_make);
    const bool cancelled = (co_await this_chain()).cancelled();
    auto outcome = outcomes.begin();
    for (Turn::Wanted& wanted : turn.wanted) {
        std::string output = std::move(wanted.refusal);
        if (output.empty() && wanted.finds) {
            output = co_await find_tools(turn, wanted.request.args);
        } else if (output.empty()) {
            turn.brake.ended(wanted.request, !outcome->has_value());
            output = shown_to_model(*outcome++, turn.options.output_bytes);
        }
        if (!cancelled) turn.events.on_tool_result(wanted.request.id, wanted.request.tool, output);
        turn.events.on_message("tool", output, result_extra(wanted.request));
        turn.conversation.push_back({.speaker = Speaker::kTool, .text = std::move(output), .requests = {}, .request_id = wanted.request.id, .tool = wanted.request.tool});
    }
    co_return !cancelled;
}

Task<Result<std::string>> Agent::run_rounds(Turn& turn) {
    const AgentOptions& options = turn.options;
    TaskChain& chain = co_await this_chain();
    const std::string_view system = options.instructions.empty() ? kInstructions : std::string_view(options.instructions);
    std::string said;
    for (std::size_t round = 1; round <= options.max_rounds; ++round) {
        if (chain.cancelled()) co_return cancelled();
        if (services_.loop.clock().steady_now() >= turn.deadline) co_return fail(too_late());
        offer_tools(turn);
        const std::size_t fixed = estimated_tokens(system.size()) + turn.offer.tokens;
        trim(turn.conversation, options.context_tokens > fixed ? options.context_tokens - fixed : 0);
        if (round == 1 && turn.request.debug) {
            std::string prompt;
            append_chat_messages(prompt, system, turn.conversation, ToolNames{});
            turn.events.on_debug_prompt(prompt, static_cast<std::int64_t>(fixed + estimated_tokens(turn.conversation)));
        }
        const ModelRequest ask{.system = system, .messages = turn.conversation, .tools = turn.offer.tools, .may_call = round < options.max_rounds};
        Speech speech(turn.events);
        services_.metrics.model_requests.add();
        auto answer = co_await models_.ask(options.models, ask, speech, turn.deadline);
        if (chain.cancelled()) co_return cancelled();
        if (!answer && services_.loop.clock().steady_now() >= turn.deadline) co_return fail(too_late());
        if (!answer) co_return fail(std::move(answer.error()));
        turn.usage.input += answer->usage.input;
        turn.usage.output += answer->usage.output;
        turn.rounds = round;
        said += answer->text;
        if (answer->requests.empty()) {
            if (said.empty()) co_return fail(empty_answer(*answer));
            co_return said;
        }
        take_requests(turn, *answer);
        std::vector<ToolRequest> requests;
        for (const Turn::Wanted& wanted : turn.wanted) requests.push_back(wanted.request);
        turn.events.on_message("assistant", answer->text, requests_extra(requests));
        turn.conversation.push_back({.speaker = Speaker::kAssistant, .text = std::move(answer->text), .requests = std::move(requests), .request_id = {}, .tool = {}, .reasoning = std::move(answer->reasoning)});
        if (!co_await run_tools(turn)) co_return cancelled();
    }
    co_return fail(ErrorCode::kInternal, fmt::format("the model asked for tools in each of {} rounds and gave no answer", options.max_rounds));
}

Task<Result<std::string>> Agent::run(core::TurnRequest request, core::TurnEvents& events) {
    services_.metrics.turns.add();
    auto agent = agents_->find(request.persona);
    if (!agent) {
        services_.metrics.failed_turns.add();
        co_return fail(std::move(agent.error()));
    }
    const AgentOptions& options = **agent;
    Turn turn(std::move(request), options, events, services_.loop.clock().steady_now() + options.turn_timeout);
    auto begun = co_await begin(turn);
    Result<std::string> answer = begun ? Result<std::string>() : fail(std::move(begun.error()));
    if (begun) answer = co_await run_rounds(turn);
    services_.metrics.tool_calls.add(turn.calls);
    services_.metrics.input_tokens.add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, turn.usage.input)));
    services_.metrics.output_tokens.add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, turn.usage.output)));
    if (!answer && answer.error().code != ErrorCode::kCancelled) services_.metrics.failed_turns.add();
    log::info("turn ended", {{"session_id", turn.request.session_id}, {"turn_id", turn.request.turn_id}, {"agent_id", options.name}, {"end", answer ? "answer" : token_of(answer.error().code)},
                             {"rounds", turn.rounds}, {"tool_calls", turn.calls}, {"input_tokens", turn.usage.input}, {"output_tokens", turn.usage.output}});
    co_return answer;
}

}  // namespace crab::agent
