#include "adapters/mcp/server/task_methods.hpp"

#include "adapters/mcp/wire/capabilities.hpp"
#include "adapters/mcp/wire/error_form.hpp"
#include "base/task/waiter.hpp"
#include "json/raw_parts.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

Reply missing_extension(const ClientRequest& request) {
    return Reply::of_error(
        request,
        {.code = rpc_code::kMissingClientCapability,
         .message = "tasks are an extension that the client has to declare",
         .data = fmt::format(R"({{"requiredCapabilities":{{"extensions":{{"{}":{{}}}}}}}})",
                             kTasksExtension)});
}

Reply refusal(const ClientRequest& request, const Error& error) {
    const bool unknown = error.code == ErrorCode::kNotFound;
    return Reply::of_error(
        request, rpc_error(error, unknown ? rpc_code::kInvalidParams : rpc_code::kInternalError));
}

}  // namespace

Reply task_reply(const ClientRequest& request, std::string object, std::string_view type) {
    object.pop_back();
    return Reply::of_result(
        request, fmt::format(R"({},"resultType":"{}","_meta":{{"{}":{}}}}})", object, type,
                             kServerInfoKey, request.server_info));
}

/// One that nobody runs, and that has no end, is taken up first. An end counts once it is durable,
/// or when that takes too long: the disk may be full.
Task<Result<TaskMethods::Known>> TaskMethods::find(std::string id, const ClientRequest& request,
                                                   Deadline deadline) {
    constexpr int kTries = 400;
    Waiter pause(net::EventLoop::current()->timers());
    for (int tries = 0; tries < kTries; ++tries) {
        auto found = co_await state_.tasks.find(id, request.principal, deadline);
        if (!found) co_return fail(std::move(found.error()));
        if (!found->live && found->row->ended)
            co_return Known{.live = nullptr, .state = state_of(*found->row)};
        auto live = found->live
                        ? std::move(found->live)
                        : co_await calls_.take_up(std::move(*found->row), request, deadline);
        const SteadyTime now = net::EventLoop::current()->now();
        if (live) {
            TaskState state = live->task_state();
            if (!has_ended(state.status) || tries == kTries - 1 || now >= deadline)
                co_return Known{.live = std::move(live), .state = std::move(state)};
        }
        if (now >= deadline || co_await pause.wait(now + Milliseconds(5)) == WaitEnd::kCancelled)
            break;
    }
    co_return fail(ErrorCode::kUnavailable, "the task cannot be found out about now; ask again");
}

/// What nobody runs and nobody has promised is not taken up for that.
Task<Result<void>> TaskMethods::cancel(const std::string& id, const ClientRequest& request,
                                       Deadline deadline) {
    auto found = co_await state_.tasks.find(id, request.principal, deadline);
    if (!found) co_return fail(std::move(found.error()));
    if (found->row && found->row->ended) co_return Result<void>();
    if (found->row && found->row->resume.empty()) {
        co_await state_.tasks.cancel(id, deadline);
        co_return Result<void>();
    }
    auto known = co_await find(id, request, deadline);
    if (!known) co_return fail(std::move(known.error()));
    if (!known->live) co_return Result<void>();
    known->live->cancel_task();
    co_await state_.tasks.cancel(id, deadline);
    co_return Result<void>();
}

Task<Reply> TaskMethods::answer(const ClientRequest& request) {
    if (!has_tasks_extension(request)) co_return missing_extension(request);
    const auto id = read_name(request.params, "taskId", kMaxIdBytes);
    if (!id) co_return Reply::invalid_params(request, id.error());
    const Deadline deadline = state_.tasks.patience();
    if (request.method == "tasks/cancel") {
        const auto cancelled = co_await cancel(*id, request, deadline);
        if (!cancelled) co_return refusal(request, cancelled.error());
        co_return Reply::of_plain(request, "{}");
    }
    const auto responses = json::find_raw(request.params, "inputResponses").value_or("");
    const bool updates = request.method == "tasks/update";
    if (updates && !responses.starts_with('{'))
        co_return Reply::invalid_params(request, "inputResponses: an object");
    const auto known = co_await find(*id, request, deadline);
    if (!known) co_return refusal(request, known.error());
    if (!updates)
        co_return task_reply(request, detailed_object(known->state, state_.tasks.times()),
                             "complete");
    if (known->live) known->live->answer_task(responses);
    co_return Reply::of_plain(request, "{}");
}

Task<std::expected<std::vector<TaskState>, Reply>> TaskMethods::watched(
    const ClientRequest& request) {
    using Watched = std::expected<std::vector<TaskState>, Reply>;
    const auto wanted = json::find_raw(request.params, "notifications").value_or("");
    const auto ids = json::find_raw(wanted, "taskIds");
    std::vector<TaskState> states;
    if (!ids) co_return Watched(std::move(states));
    if (!has_tasks_extension(request)) co_return std::unexpected(missing_extension(request));
    std::size_t named = 0;
    for (json::RawParts parts(*ids); ids->starts_with('[') && parts.next();) ++named;
    if (!ids->starts_with('[') || named > kMostWatched)
        co_return std::unexpected(Reply::invalid_params(
            request, fmt::format("taskIds: an array of at most {} ids", kMostWatched)));
    const Deadline deadline = state_.tasks.patience();  // of all together
    for (json::RawParts parts(*ids); parts.next();) {
        auto id = json::read_raw_string(parts.value());
        if (!id || id->size() > kMaxIdBytes ||
            std::ranges::find(states, *id, &TaskState::id) != states.end())
            continue;
        auto known = co_await find(std::move(*id), request, deadline);
        if (known) states.push_back(std::move(known->state));
    }
    co_return Watched(std::move(states));
}

}  // namespace crab::mcp
