#include "core/pipeline/recall.hpp"

#include "core/call/tool_scope.hpp"
#include "core/ledger/ledger_content.hpp"
#include "core/pipeline/authorize_stage.hpp"
#include "core/pipeline/call_endings.hpp"
#include "core/pipeline/hook_stage.hpp"
#include "core/registry/absent_tool.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace crab::core {
namespace {

Error not_read() {
    return {.code = ErrorCode::kUnavailable,
            .message =
                "whether this call ran before could not be found out, so nothing was run; "
                "call again with the same id and key",
            .details = {},
            .retryable = true,
            .retry_after = Milliseconds(1'000)};
}

/// Of a tool that may run again, and is not there to do so. `why`: what was found in its place.
Error not_there_again(SystemTime admitted_at, const Error& why) {
    const std::string at = to_rfc3339(admitted_at);
    const bool soon = why.code == ErrorCode::kUnavailable;
    return {.code = soon ? ErrorCode::kUnavailable : ErrorCode::kOutcomeUnknown,
            .message = fmt::format("this call was sent at {} and the gateway stopped before it had "
                                   "an answer; its tool is not there now. Call again with the "
                                   "same id and key: a second run has no second effect",
                                   at),
            .details = fmt::format(R"({{"admitted_at":"{}"}})", at),
            .retryable = true,
            .retry_after = soon ? why.retry_after : std::nullopt};
}

}  // namespace

struct Recall::Question {
    ToolRef there;
    Error why;
    Deadline deadline;
};

MaybeTask<OutcomeRef> Recall::end_unauthorized(Error why, CallInProgress& progress) {
    const bool leads_nowhere = !progress.facts.tool && why.code != ErrorCode::kForbidden;
    if (!leads_nowhere) return ended(std::move(why));
    return known_or(std::move(why), progress);
}

Task<OutcomeRef> Recall::known_or(Error why, CallInProgress& progress) {
    const OutcomeRef known = co_await known_of(nullptr, why, progress);
    if (known) co_return known;
    co_return ended(std::move(why));
}

MaybeTask<OutcomeRef> Recall::known_of(ToolRef there, Error why, CallInProgress& progress) {
    if (loop_.shared.journal == nullptr || !progress.repeatable) return nullptr;
    return look_up(std::move(there), std::move(why), progress);
}

Task<OutcomeRef> Recall::look_up(ToolRef there, Error why, CallInProgress& progress) {
    constexpr std::chrono::seconds kWithin{30};
    const Call& call = progress.call();
    const Question question{
        .there = std::move(there),
        .why = std::move(why),
        .deadline = std::min(call.caller_deadline,
                             call.timeline.started() + call.timeout.value_or(kWithin))};
    const auto entry =
        co_await loop_.shared.journal->find(progress.key, question.deadline, &loop_.timers);
    if (!entry) co_return ended(not_read());
    if (entry->status == LedgerStatus::kAbsent ||
        (question.there && entry->tool == question.there->unique_name))
        co_return nullptr;

    const ToolRef tool = absent_tool_of(*entry, progress);
    if (!tool) co_return nullptr;
    if (!may_mean(call.tool, call.provider_id, *tool)) co_return ended(conflict());
    const bool has_hooks = HookStage::apply(*progress.rules, *tool);
    if (question.there && has_hooks) co_return nullptr;  // they were asked about another tool
    const auto digest = co_await judge(tool, has_hooks, progress);
    if (!digest) co_return digest.error();
    co_return co_await tell(question, *digest, progress);
}

/// What the entry was made for, if the caller may know it.
ToolRef Recall::absent_tool_of(const LedgerEntry& entry, const CallInProgress& progress) {
    const Call& call = progress.call();
    ToolRef tool =
        absent_tool(entry.tool, entry.source,
                    {.side_effects = entry.side_effects, .idempotent = entry.may_run_again});
    if (!tool || (call.scope != nullptr && !call.scope->holds(*tool)) ||
        !progress.rules->policy->may_call(*progress.principal, *tool))
        return nullptr;
    return tool;
}

/// The stages up to the ledger, for a tool that is not there; then what the call is.
Task<Reached<ContentDigest>> Recall::judge(ToolRef tool, bool has_hooks, CallInProgress& progress) {
    auto authorized = AuthorizeStage::decide(tool, progress);
    if (!authorized) co_return end_with(std::move(authorized.error()));
    progress.facts.tool = tool;
    if (has_hooks) {
        auto hooked = co_await HookStage::ask(*authorized, progress);
        if (!hooked) co_return end_with(std::move(hooked.error()));
    }
    const auto args = progress.args.read();
    if (!args) co_return end_with(args.error());
    co_return digest_of(progress.call(), *tool, {}, args->element());
}

Task<OutcomeRef> Recall::tell(const Question& question, const ContentDigest& digest,
                              CallInProgress& progress) {
    Ledger::Ticket ticket;
    while (true) {
        auto answer = repeats_.ask(content_of(digest), progress);
        if (answer.admission == Admission::kNew) {
            ticket = std::move(answer.ticket);
            break;
        }
        OutcomeRef known =
            co_await repeats_.outcome_of(std::move(answer), question.deadline, progress);
        if (known) co_return known;
    }
    // Nobody runs it in this life, and while we have the ticket nobody begins to.
    const auto entry =
        co_await loop_.shared.journal->find(progress.key, question.deadline, &loop_.timers);
    if (!entry) co_return ended(not_read());
    if (entry->status == LedgerStatus::kAbsent) {
        progress.facts.tool = question.there;
        co_return nullptr;
    }
    if (!entry->content) co_return ended(recorded_otherwise(entry->admitted_at));
    if (*entry->content != digest) co_return ended(conflict());
    if (entry->status == LedgerStatus::kRunning)
        co_return ended(ErrorCode::kAlreadyInProgress,
                        "this call runs at another gateway; ask again for its outcome");
    if (entry->status == LedgerStatus::kOpen)
        co_return ended(entry->may_run_again ? not_there_again(entry->admitted_at, question.why)
                                             : unknown_since(entry->admitted_at));
    progress.facts.replayed = true;
    progress.first_duration = entry->duration;
    ticket.finish(entry->outcome, entry->duration);
    co_return entry->outcome;
}

}  // namespace crab::core
