#include "agent/tool_batch.hpp"

#include "base/exception_text.hpp"
#include "base/log.hpp"
#include "base/task/spawn.hpp"

#include <algorithm>

namespace crab::agent {

Task<void> ToolBatch::call(One& one) {
    core::Call call;
    call.tool = one.request->tool;
    if (one.request->call_id) {
        call.made_id = *one.request->call_id;
        call.id = call.made_id.view();
    }
    call.args = one.request->args;
    access_.address(call);
    call.caller_deadline = deadline_;
    call.canceller = &one.signal;
    core::FrameSink nobody;
    const core::AuthenticatedCall authenticated(call, access_.principal());
    const core::CallEnd end = co_await runner_.run(authenticated, nobody);
    one.outcome = *end.outcome;
}

void ToolBatch::on_end(One& one, const std::exception_ptr& failure) {
    if (failure || !one.outcome) {
        log::error("tool call of a turn failed unexpectedly",
                   {{"tool", one.request->tool},
                    {"session_id", access_.session_id()},
                    {"reason", failure ? text_of(failure) : "it ended without an outcome"}});
        one.outcome = fail(ErrorCode::kInternal, "the call failed unexpectedly");
    }
    if (--left_ == 0) ended_.wake();
}

/// Makes these calls and returns when the last has ended; after that the chain is cancelled if it
/// was meanwhile.
Task<void> ToolBatch::run_some(std::span<const std::unique_ptr<One>> calls) {
    TaskChain& chain = co_await this_chain();
    left_ = calls.size();
    for (const auto& one : calls) {
        spawn(
            loop_.executor(), call(*one),
            [this, at = one.get()](const std::exception_ptr& failure) { on_end(*at, failure); },
            &one->signal);
    }
    bool cancelled = false;
    while (left_ > 0) {
        if (co_await ended_.wait(kNoDeadline) != WaitEnd::kCancelled) continue;
        cancelled = true;
        chain.forget_cancellation();  // the calls are waited for all the same
        for (const auto& one : calls) one->signal.emit();
    }
    if (cancelled) chain.cancel();
}

Task<std::vector<core::Outcome>> ToolBatch::run(const std::vector<const ToolRequest*>& requests) {
    const TaskChain& chain = co_await this_chain();
    for (const ToolRequest* request : requests) calls_.push_back(std::make_unique<One>(request));
    const std::span<const std::unique_ptr<One>> calls(calls_);
    for (std::size_t first = 0; first < calls.size() && !chain.cancelled(); first += kAtOnce) {
        co_await run_some(calls.subspan(first, std::min(kAtOnce, calls.size() - first)));
    }
    std::vector<core::Outcome> outcomes;
    for (const auto& one : calls_) {
        if (!one->outcome)
            one->outcome =
                fail(ErrorCode::kCancelled, "the turn was cancelled before this call was made");
        outcomes.push_back(std::move(*one->outcome));
    }
    co_return outcomes;
}

}  // namespace crab::agent
