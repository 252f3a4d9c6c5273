#include "adapters/mcp/server/askable_calls.hpp"
#include "adapters/mcp/server/askable_owned.hpp"
#include "adapters/mcp/server/task_methods.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <utility>

/// What AskableCalls does with calls that are tasks (docs/protocols/mcp.md, section 4.7).
namespace crab::mcp {
namespace {

/// What the call is run with again: the request's method and params.
std::string stored_request(const ParkedCall::Facts& facts) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("revision").string(name_of(facts.revision));
    writer.key("params").raw(*facts.params).end_object();
    return out;
}

}  // namespace

Reply AskableCalls::task_created(const ClientRequest& request, const TaskState& task) const {
    return task_reply(request, created_object(task, state_.tasks.times()), "task");
}

/// It is durable before anybody is told its id.
Task<void> AskableCalls::make_task(std::shared_ptr<ParkedCall> parked) {
    core::CallTask draft = parked->facts().draft;
    draft.request = stored_request(parked->facts());
    draft.resume = parked->resume();
    const auto row = co_await state_.tasks.add(std::move(draft));
    if (!row) co_return parked->unclaim_task();
    state_.tasks.enter(*row, parked);
    if (!parked->become_task(*row)) state_.tasks.remove(row->id);
}

Task<std::shared_ptr<LiveTask>> AskableCalls::take_up(core::CallTask row, const ClientRequest& by,
                                                      Deadline deadline) {
    const auto params = json::find_raw(row.request, "params");
    const auto revision =
        find_revision(json::find_raw_string(row.request, "revision").value_or(""));
    TaskState over{.id = row.id,
                   .status = TaskStatus::kCancelled,
                   .message = {},
                   .created = row.created,
                   .updated = loop_.clock().system_now(),
                   .input_requests = {},
                   .outcome = {}};
    if (!params || !revision) {  // its client had cancelled it
        co_await state_.tasks.end(std::move(over), deadline);
        co_return nullptr;
    }
    ClientRequest request{.id = RequestId(0),
                          .method = "tools/call",
                          .params = *params,
                          .meta = {},
                          .revision = *revision,
                          .principal = by.principal,
                          .session = nullptr,
                          .server_info = state_.server_info};
    const auto owned = std::make_shared<Owned>(request, *params);
    auto planned = plans_.plan(owned->request);
    if (!planned) {
        over.status = TaskStatus::kFailed;
        over.outcome = error_object({.message = "the call cannot be taken up", .data = {}});
        co_await state_.tasks.end(std::move(over), deadline);
        co_return nullptr;
    }
    owned->plan = std::move(*planned);
    owned->resume = row.resume;
    owned->again = true;
    const auto parked = make_parked(owned, row.call_id);
    parked->take_up(row.resume);
    parked->become_task(row);
    if (!state_.tasks.enter(row, parked) || !co_await state_.tasks.is_open(row.id, deadline))
        co_return nullptr;
    tasks_.spawn("mcp task", host(parked, owned));
    co_return parked;
}

/// A task that has ended keeps its outcome, unless the end is the gateway's.
Task<void> AskableCalls::settle(ParkedCall& parked) {
    if (!parked.is_task() || parked.ends_with_gateway()) co_return;
    co_await state_.tasks.end(parked.task_state(), state_.tasks.patience());
}

/// For clients that take tasks: a tool that only reads is waited for while its device is away, and
/// after a start every tool, for its source may not have listed it yet. An error: it has not come.
Task<std::optional<Error>> AskableCalls::wait_for_tool(ParkedCall& parked, Owned& owned,
                                                       Milliseconds within) {
    constexpr Milliseconds kPause{250};
    const core::PrincipalRef& principal = owned.request.principal;
    const auto is_missing = [&] {
        const auto tool = pipeline_.resolve(*principal, {}, owned.plan.tool);
        return !tool && (tool.error().code == ErrorCode::kToolNotFound ||
                         tool.error().code == ErrorCode::kUnavailable);
    };
    if (!is_missing()) co_return std::nullopt;
    core::Call call;
    const ClientIdentity nobody;
    fill_call(call, owned.request, owned.plan, nobody);
    std::unique_ptr<core::AwayCalls::Place> place;
    if (!owned.again) {
        if (away_ == nullptr) co_return std::nullopt;
        auto entered = away_->enter(call, principal, loop_.executor(), loop_.timers());
        if (!entered) co_return std::nullopt;  // the pipeline says why it cannot be called
        place = std::move(*entered);
    }
    parked.say("waits for its tool, which is away");
    parked.on_deferred(owned.resume);
    Waiter pause(loop_.timers());
    const Deadline until = loop_.now() + std::min(call.timeout.value_or(within), within);
    while (is_missing()) {
        // what had begun before is in the ledger, and the pipeline tells it
        if (loop_.now() >= until && owned.again) co_return std::nullopt;
        if (loop_.now() >= until) co_return core::AwayCalls::not_back();
        if (auto ended = place ? place->ended() : std::nullopt) co_return std::move(*ended);
        const WaitEnd end = place ? co_await place->wait(until)
                                  : co_await pause.wait(std::min(until, loop_.now() + kPause));
        if (end == WaitEnd::kCancelled && !(place && place->ended()))
            co_return Error{.code = ErrorCode::kCancelled,
                            .message =
                                "the call was cancelled while its tool was away; nothing "
                                "was run"};
        // its name may have been one that only the lists knew
        if (auto planned = plans_.plan(owned.request)) owned.plan = std::move(*planned);
    }
    parked.say({});
    co_return std::nullopt;
}

}  // namespace crab::mcp
