#include "adapters/mcp/client/upstream_link.hpp"

#include "adapters/mcp/client/coroutine_ends.hpp"
#include "adapters/mcp/client/outgoing_params.hpp"
#include "adapters/mcp/wire/header_value.hpp"
#include "adapters/mcp/wire/request_headers.hpp"
#include "adapters/mcp/wire/result.hpp"
#include "core/call/long_call.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr Milliseconds kLevelTime{5'000};

/// Whether an answer says that another server stands there by now, or one of another era: nothing
/// has run then.
bool contradicts(const ExchangeEnd& end, Era era) {
    if (!end.reply || *end.reply) return false;
    const std::int64_t code = end.reply->error().code;
    if (code == rpc_code::kUnsupportedVersion) return true;
    if (era == Era::kLegacy)
        return end.http_status == 400 &&
               (code == rpc_code::kHeaderMismatch || code == rpc_code::kInvalidParams);
    const bool is_servers_own = code <= -32000 && code >= -32019;
    return end.http_status == 400 && (code == rpc_code::kInvalidRequest || is_servers_own);
}

Error settled(const ExchangeEnd& end, bool may_repeat) {
    Error error = end.reply.error();
    if (error.code == ErrorCode::kUnavailable && end.may_have_run && !may_repeat)
        error.code = ErrorCode::kOutcomeUnknown;
    return error;
}

/// What a server says that has made this task, as far as it matters.
std::string task_object(std::string_view id) {
    std::string out;
    json::Writer(out).begin_object().key("taskId").string(id).end_object();
    return out;
}

}  // namespace

UpstreamLink::UpstreamLink(std::unique_ptr<UpstreamConversation> conversation,
                           UpstreamOptions options, UpstreamFacts facts)
    : conversation_(std::move(conversation)),
      options_(std::move(options)),
      facts_(std::move(facts)),
      tasks_(conversation_->loop().executor()) {}

/// `tasks.requests.tools.call` of its capabilities (2025-11-25).
bool UpstreamLink::runs_tools_as_tasks() const {
    std::string_view part = server_capabilities();
    for (const std::string_view name : {"tasks", "requests", "tools", "call"})
        part = json::find_raw(part, name).value_or("");
    return part.starts_with('{');
}

Task<Result<UpstreamReply>> UpstreamLink::request(UpstreamRequest request) {
    const auto self = shared_from_this();
    RequestProgress progress{.request = std::move(request), .round = {}};
    progress.round = {.input_responses = std::move(progress.request.input_responses),
                      .request_state = std::move(progress.request.request_state)};
    if (era() == Era::kLegacy) {
        co_await want_log(progress.request.sink, progress.request.deadline);
        const TaskUse use = progress.request.task_use;
        const bool as_task = use == TaskUse::kAlways || !progress.request.task.empty() ||
                             (use == TaskUse::kIfDeclared && runs_tools_as_tasks());
        if (as_task && revision() == Revision::k2025_11_25)
            co_return co_await run_legacy_task(progress);
        co_return co_await send_once(progress.request, {});
    }
    if (!progress.request.task.empty())
        co_return co_await wait_for_task(progress, task_object(progress.request.task));
    for (;;) {
        Result<UpstreamReply> reply = co_await send_once(progress.request, progress.round);
        if (!reply || !*reply) co_return reply;
        const auto type = result_type(**reply);
        if (type == "complete") co_return reply;
        if (type == "task") co_return co_await wait_for_task(progress, std::move(**reply));
        if (type != "input_required")
            co_return fail(ErrorCode::kToolFailed,
                           "the MCP server's result is of a type that is not known here");
        const Result<void> asked = co_await next_round(progress, **reply);
        if (!asked) co_return fail(asked.error());
    }
}

/// One request to its reply; a lost one is sent once more if that does no harm.
Task<Result<UpstreamReply>> UpstreamLink::send_once(const UpstreamRequest& request,
                                                    const QuestionRound& round) {
    for (int attempt = 0;; ++attempt) {
        ExchangeEnd end = co_await conversation_->run(to_send(request, round));
        if (contradicts(end, era())) {
            const Error changed{.code = ErrorCode::kUnavailable,
                                .message = "the MCP server speaks another version by now"};
            conversation_->end(changed);
            co_return fail(changed);
        }
        if (end.reply) co_return std::move(end.reply);
        const bool lost = end.reply.error().code == ErrorCode::kUnavailable && end.may_have_run;
        if (lost && request.may_repeat && attempt == 0 && is_open()) continue;
        co_return fail(settled(end, request.may_repeat));
    }
}

UpstreamConversation::Request UpstreamLink::to_send(const UpstreamRequest& request,
                                                    const QuestionRound& round) const {
    const auto write = [this, &request, &round](std::int64_t id) {
        ClientCapabilities has = client_capabilities(answers_of(request));
        const core::LongCall* const front = long_call_of(request);
        has.tasks_extension = front == nullptr || !front->refuses_deferred();
        const std::string capabilities = upstream_capabilities(has, options_.ask, revision());
        OutgoingMeta meta{.revision = revision(),
                          .capabilities = capabilities,
                          .client_info = options_.client_info,
                          .traceparent = request.traceparent,
                          .more = request.meta};
        if (request.sink != nullptr) {
            if (request.sink->wants_progress()) meta.progress_token = id;
            meta.log_level = request.sink->wanted_log_level();
        }
        return outgoing_params(
            request.params, meta,
            {.input_responses = round.input_responses, .request_state = round.request_state});
    };
    return {.method = request.method,
            .params = write,
            .headers = headers_of(request),
            .deadline = request.deadline,
            .sink = request.sink,
            .inquirer = request.inquirer};
}

HeaderLines UpstreamLink::headers_of(const UpstreamRequest& request) const {
    if (!features_of(revision()).request_headers) return {};
    HeaderLines lines{{std::string(kVersionHeader), std::string(name_of(revision()))},
                      {std::string(kMethodHeader), request.method}};
    std::string name = request.name;
    if (const std::string_view member = named_param(request.method);
        name.empty() && !member.empty())
        name = json::find_raw_string(request.params, member).value_or("");
    if (!name.empty()) lines.emplace_back(kNameHeader, encode_header_value(name));
    lines.insert(lines.end(), request.param_headers.begin(), request.param_headers.end());
    return lines;
}

core::LongCall* UpstreamLink::long_call_of(const UpstreamRequest& request) {
    return request.inquirer != nullptr ? request.inquirer->long_call() : nullptr;
}

core::Inquirer::Answers UpstreamLink::answers_of(const UpstreamRequest& request) const {
    return request.inquirer != nullptr ? request.inquirer->answers() : core::Inquirer::Answers{};
}

/// Asks what a result asks; the deadline stands still meanwhile.
Task<Result<void>> UpstreamLink::next_round(RequestProgress& progress, std::string_view result) {
    if (++progress.rounds > kMostRounds)
        co_return fail(
            ErrorCode::kToolFailed,
            fmt::format("the MCP server has asked {} times and still wants more", kMostRounds));
    const QuestionRules rules{
        .source = options_.source, .answers = answers_of(progress.request), .ask = options_.ask};
    auto questions = read_questions(json::find_raw(result, "inputRequests").value_or(""), rules);
    if (!questions) co_return fail(std::move(questions.error()));
    progress.round = {
        .input_responses = {},
        .request_state = std::string(json::find_raw(result, "requestState").value_or(""))};
    if (questions->empty()) {
        if (progress.round.request_state.empty())
            co_return fail(ErrorCode::kToolFailed, "the MCP server asks for input and names none");
        co_return Result<void>();
    }
    const SteadyTime began = conversation_->loop().clock().steady_now();
    auto answers = co_await ask_all(*progress.request.inquirer, std::move(*questions));
    if (!answers) co_return fail(std::move(answers.error()));
    progress.round.input_responses = std::move(*answers);
    if (progress.request.deadline != kNoDeadline)
        progress.request.deadline += conversation_->loop().clock().steady_now() - began;
    co_return Result<void>();
}

void UpstreamLink::notify(std::string_view method, std::string_view params) {
    conversation_->notify(method, params);
}

/// Tells a legacy upstream the lowest level that anybody has wanted so far.
Task<void> UpstreamLink::want_log(const core::FrameSink* sink, Deadline deadline) {
    const std::string_view wanted = sink != nullptr ? sink->wanted_log_level() : std::string_view();
    if (wanted.empty() || !json::find_raw(facts_.capabilities, "logging")) co_return;
    if (!log_level_.empty() && !is_lower_level(wanted, log_level_)) co_return;
    log_level_ = wanted;
    std::string params;
    json::Writer(params).begin_object().key("level").string(wanted).end_object();
    co_await conversation_->run({.method = "logging/setLevel",
                                 .params = [params](std::int64_t) { return params; },
                                 .headers = {},
                                 .deadline = std::min(deadline, from_now(kLevelTime))});
}

Deadline UpstreamLink::from_now(Milliseconds time) const {
    return conversation_->loop().clock().steady_now() + time;
}

Task<void> UpstreamLink::close() {
    const auto self = shared_from_this();
    co_await uninterrupted(join(tasks_));
    co_await conversation_->close();
}

}  // namespace crab::mcp
