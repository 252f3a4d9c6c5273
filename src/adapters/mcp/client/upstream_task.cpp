#include "adapters/mcp/client/outgoing_params.hpp"
#include "adapters/mcp/client/upstream_link.hpp"
#include "core/call/long_call.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

/// Tasks of upstreams (docs/protocols/mcp.md, section 4.7): what UpstreamLink does once a request
/// was answered with one.
namespace crab::mcp {
namespace {

constexpr Milliseconds kPoll{2'000}, kLeastPoll{500}, kMostPoll{60'000};
constexpr std::size_t kLongestKeptId = 1024;
constexpr int kMostLostPolls = 5;
constexpr Milliseconds kPollTime{30'000};
constexpr Milliseconds kLegacyTtl = std::chrono::hours(1);
constexpr Milliseconds kCancelTime{5'000};

Milliseconds poll_interval(std::string_view task, Milliseconds before,
                           std::string_view member = "pollIntervalMs") {
    const auto raw = json::find_raw(task, member);
    std::int64_t ms = 0;
    if (!raw || std::from_chars(raw->data(), raw->data() + raw->size(), ms).ec != std::errc())
        return before;
    return std::clamp(Milliseconds(ms), kLeastPoll, kMostPoll);
}

RpcError task_error(std::string_view error) {
    RpcError out{.message = json::find_raw_string(error, "message").value_or("the task failed")};
    const std::string_view code = json::find_raw(error, "code").value_or("");
    std::from_chars(code.data(), code.data() + code.size(), out.code);
    out.data = json::find_raw(error, "data").value_or("");
    return out;
}

/// Its task, told to whoever called.
void tell_deferred(const UpstreamRequest& call, std::string_view id) {
    if (call.sink != nullptr) call.sink->on_deferred();
    core::LongCall* const front = call.inquirer != nullptr ? call.inquirer->long_call() : nullptr;
    if (front != nullptr) front->on_deferred(id.size() <= kLongestKeptId ? id : std::string_view());
}

/// A request about a task. It may always be repeated.
UpstreamRequest about_task(std::string_view method, std::string_view id,
                           const UpstreamRequest& call) {
    UpstreamRequest request{.method = std::string(method),
                            .params = {},
                            .name = std::string(id),
                            .may_repeat = true,
                            .inquirer = call.inquirer,
                            .traceparent = call.traceparent};
    json::Writer(request.params).begin_object().key("taskId").string(id).end_object();
    return request;
}

/// How a task has ended; nothing while it has not.
std::optional<Result<UpstreamReply>> end_of_task(std::string_view task) {
    const std::string status = json::find_raw_string(task, "status").value_or("");
    if (status == "working" || status == "input_required") return std::nullopt;
    if (status == "completed") {
        const auto result = json::find_raw(task, "result");
        if (result && result->starts_with('{')) return UpstreamReply(std::string(*result));
    }
    if (status == "failed")
        return UpstreamReply(
            std::unexpected(task_error(json::find_raw(task, "error").value_or(""))));
    if (status == "cancelled")
        return fail(ErrorCode::kToolFailed, "the MCP server has cancelled its task");
    return fail(ErrorCode::kToolFailed, "the MCP server's task is in a state that is not known");
}

void tell_status(core::FrameSink* sink, std::string_view task, std::string& told) {
    auto message = json::find_raw_string(task, "statusMessage");
    if (sink == nullptr || !message || *message == told) return;
    told = *message;
    if (!sink->wants_progress()) return;
    const core::Progress progress{.message = std::move(*message), .progress = {}, .total = {}};
    sink->on_progress(progress);
}

}  // namespace

/// Until the next poll. An error: the wait for the task is over.
Task<std::optional<Error>> UpstreamLink::pause_task(const UpstreamRequest& call,
                                                    std::string_view id, Milliseconds interval) {
    Waiter pause(conversation_->loop().timers());
    const WaitEnd end = co_await pause.wait(std::min(call.deadline, from_now(interval)));
    if (end == WaitEnd::kCancelled) {
        const core::LongCall* const front = long_call_of(call);
        const bool goes_on = front != nullptr && front->stays_open();
        if (!goes_on) cancel_task(id);
        co_return Error{.code = ErrorCode::kCancelled, .message = "the call was cancelled"};
    }
    if (from_now(Milliseconds(0)) < call.deadline) co_return std::nullopt;
    cancel_task(id);
    co_return Error{.code = ErrorCode::kTimeout,
                    .message = "the MCP server's task did not end before the deadline"};
}

/// The task's state after `interval`, or what ends the wait for it. Nothing: that poll was lost.
Task<std::optional<Result<UpstreamReply>>> UpstreamLink::poll_task(const UpstreamRequest& call,
                                                                   std::string_view id,
                                                                   Milliseconds interval,
                                                                   int& lost) {
    if (auto over = co_await pause_task(call, id, interval)) co_return fail(std::move(*over));
    UpstreamRequest poll = about_task("tasks/get", id, call);
    poll.deadline = std::min(call.deadline, from_now(kPollTime));
    Result<UpstreamReply> state = co_await send_once(poll, {});
    if (!state) {
        const bool cancelled = (co_await this_chain()).cancelled();
        // the next pause says so
        if (cancelled || from_now(Milliseconds(0)) >= call.deadline) co_return std::nullopt;
        if (++lost < kMostLostPolls && is_open()) co_return std::nullopt;
        co_return fail(ErrorCode::kOutcomeUnknown,
                       "the MCP server's task cannot be followed: " + state.error().message);
    }
    if (*state) lost = 0;
    co_return state;
}

Task<Result<UpstreamReply>> UpstreamLink::wait_for_task(RequestProgress& progress,
                                                        std::string created) {
    const auto id = json::find_raw_string(created, "taskId");
    if (!id) co_return fail(ErrorCode::kToolFailed, "the MCP server has made a task without an id");
    UpstreamRequest& call = progress.request;
    tell_deferred(call, *id);
    Milliseconds interval = poll_interval(created, kPoll);
    std::string told;
    std::vector<std::string> asked;
    tell_status(call.sink, created, told);
    for (int lost = 0;;) {
        auto polled = co_await poll_task(call, *id, interval, lost);
        if (!polled) continue;
        Result<UpstreamReply>& state = *polled;
        if (!state || !*state) co_return std::move(state);
        interval = poll_interval(**state, interval);
        tell_status(call.sink, **state, told);
        if (auto over = end_of_task(**state)) co_return *std::move(over);
        const Result<void> fed = co_await feed_task(progress, *id, **state, asked);
        if (fed) continue;
        cancel_task(*id);
        co_return fail(fed.error());
    }
}

/// A tool of 2025-11-25 that runs as a task only: made with `task`, then followed until it has
/// ended or asks. The result, and the questions before it, come with `tasks/result`.
Task<Result<UpstreamReply>> UpstreamLink::run_legacy_task(RequestProgress& progress) {
    UpstreamRequest& call = progress.request;
    if (!call.task.empty()) co_return co_await follow_legacy_task(progress, call.task, kPoll);
    std::string params;
    json::Writer writer(params);
    writer.begin_object();
    for (json::RawParts members(call.params); members.next();)
        writer.key(members.name()).raw(members.value());
    writer.key("task").begin_object().key("ttl").integer(kLegacyTtl.count()).end_object();
    writer.end_object();
    call.params = std::move(params);
    Result<UpstreamReply> reply = co_await send_once(call, {});
    if (!reply || !*reply) co_return reply;
    const auto task = json::find_raw(**reply, "task");
    if (!task) co_return reply;  // it has answered at once
    const auto id = json::find_raw_string(*task, "taskId");
    if (!id) co_return fail(ErrorCode::kToolFailed, "the MCP server has made a task without an id");
    co_return co_await follow_legacy_task(progress, *id,
                                          poll_interval(*task, kPoll, "pollInterval"));
}

Task<Result<UpstreamReply>> UpstreamLink::follow_legacy_task(RequestProgress& progress,
                                                             std::string id,
                                                             Milliseconds interval) {
    UpstreamRequest& call = progress.request;
    tell_deferred(call, id);
    std::string told;
    for (int lost = 0;;) {
        auto polled = co_await poll_task(call, id, interval, lost);
        if (!polled) continue;
        Result<UpstreamReply>& state = *polled;
        if (!state || !*state) co_return std::move(state);
        interval = poll_interval(**state, interval, "pollInterval");
        tell_status(call.sink, **state, told);
        const std::string status = json::find_raw_string(**state, "status").value_or("");
        if (status == "cancelled")
            co_return fail(ErrorCode::kToolFailed, "the MCP server has cancelled its task");
        if (status != "working") break;
    }
    UpstreamRequest result = about_task("tasks/result", id, call);
    result.deadline = call.deadline;
    result.sink = call.sink;
    co_return co_await send_once(result, {});
}

/// Asks what the task asks and was not asked before.
Task<Result<void>> UpstreamLink::feed_task(RequestProgress& progress, std::string_view id,
                                           std::string_view state,
                                           std::vector<std::string>& asked) {
    const QuestionRules rules{
        .source = options_.source, .answers = answers_of(progress.request), .ask = options_.ask};
    auto questions =
        read_questions(json::find_raw(state, "inputRequests").value_or(""), rules, asked);
    if (!questions) co_return fail(std::move(questions.error()));
    if (questions->empty()) co_return Result<void>();
    if (++progress.rounds > kMostRounds)
        co_return fail(ErrorCode::kToolFailed,
                       fmt::format("the MCP server's task has asked {} times and still wants more",
                                   kMostRounds));
    for (const auto& [key, question] : *questions) asked.push_back(key);
    const SteadyTime began = conversation_->loop().clock().steady_now();
    auto answers = co_await ask_all(*progress.request.inquirer, std::move(*questions));
    if (!answers) co_return fail(std::move(answers.error()));
    if (progress.request.deadline != kNoDeadline)
        progress.request.deadline += conversation_->loop().clock().steady_now() - began;
    UpstreamRequest update = about_task("tasks/update", id, progress.request);
    update.deadline = std::min(progress.request.deadline, from_now(kPollTime));
    const QuestionRound round{.input_responses = std::move(*answers), .request_state = {}};
    const auto updated = co_await send_once(update, round);
    if (!updated) co_return fail(updated.error());
    if (!*updated)
        co_return fail(ErrorCode::kToolFailed,
                       "the MCP server does not take the answers: " + updated->error().message);
    co_return Result<void>();
}

/// Nobody waits for its end.
void UpstreamLink::cancel_task(std::string_view id) {
    UpstreamRequest cancel = about_task("tasks/cancel", id, {});
    cancel.deadline = from_now(kCancelTime);
    const auto send = [](std::shared_ptr<UpstreamLink> self,
                         UpstreamRequest request) -> Task<void> {
        co_await self->send_once(request, {});
    };
    tasks_.spawn("cancel of a task", send(shared_from_this(), std::move(cancel)));
}

}  // namespace crab::mcp
