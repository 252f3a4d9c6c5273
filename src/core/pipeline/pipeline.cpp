#include "core/pipeline/pipeline.hpp"

#include "core/call/inquirer.hpp"
#include "core/pipeline/admit_stage.hpp"
#include "core/pipeline/approve_stage.hpp"
#include "core/pipeline/authorize_stage.hpp"
#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/dispatch_stage.hpp"
#include "core/pipeline/hook_stage.hpp"
#include "core/pipeline/limit_stage.hpp"
#include "core/pipeline/recall.hpp"
#include "core/pipeline/record_stage.hpp"
#include "core/pipeline/repeats.hpp"
#include "core/pipeline/result_check.hpp"
#include "core/pipeline/settle_stage.hpp"
#include "core/pipeline/stage.hpp"
#include "core/pipeline/validate_stage.hpp"

#include <utility>

namespace crab::core {
namespace {

/// Whether the caller's own deadline ended it. Its clock began before ours, so its cancel may come
/// shortly before the deadline does.
bool ended_by_caller(const CallInProgress& progress, const Outcome& outcome) {
    constexpr Milliseconds kOnTheWay{250};
    if (outcome || progress.entry.cancelled_by_id()) return false;
    const Call& call = progress.call();
    const ErrorCode code = outcome.error().code;
    const SteadyTime ended = call.timeline.started() +
                             std::chrono::nanoseconds(call.timeline.offset_ns(Stage::kFinished));
    return (code == ErrorCode::kTimeout && ended >= call.caller_deadline) ||
           (code == ErrorCode::kCancelled && ended + kOnTheWay >= call.caller_deadline);
}

}  // namespace

/// Those that keep something, or know others.
struct Pipeline::Stages {
    explicit Stages(LoopServices& loop)
        : authorize(loop),
          repeats(loop),
          recall(loop, repeats),
          admit(loop, repeats, recall),
          approve(loop, authorize),
          record(loop, recall),
          results(loop.ids),
          dispatch(loop, results),
          settle(loop, results) {}

    AuthorizeStage authorize;
    Repeats repeats;
    Recall recall;
    AdmitStage admit;
    ApproveStage approve;
    RecordStage record;
    ResultCheck results;
    DispatchStage dispatch;
    SettleStage settle;
};

Pipeline::Pipeline(CallServices services, const Executor& home, TimerWheel& timers, IdSource& ids)
    : loop_(services, home, timers, ids), stages_(std::make_unique<Stages>(loop_)) {}

Pipeline::~Pipeline() = default;

Task<CallEnd> Pipeline::run(AuthenticatedCall authenticated, FrameSink& sink,
                            WhileRunning repeats) {
    TaskChain& chain = co_await this_chain();
    CallInProgress progress(authenticated, loop_, repeats, chain);
    OutcomeRef outcome = co_await pass_stages(authenticated, sink, progress);
    progress.ticket = {};  // a call that was refused on its way leaves its place to repeats
    chain.forget_cancellation();
    if (progress.hooked) co_await HookStage::tell(*outcome, progress);
    co_return finish(std::move(outcome), sink, progress);
}

/// The life of a call (ARCHITECTURE.md). Each stage takes what only the one before it can make; one
/// that ends the call says with what.
Task<OutcomeRef> Pipeline::pass_stages(AuthenticatedCall call, FrameSink& sink,
                                       CallInProgress& progress) {
    Stages& stage = *stages_;
    auto arrived = stage.authorize.arrive(progress);
    if (!arrived) co_return ended(std::move(arrived.error()));
    auto authorized = stage.authorize.pass(call, progress);
    if (!authorized)
        co_return co_await stage.recall.end_unauthorized(std::move(authorized.error()), progress);
    auto hooked = co_await HookStage::pass(*authorized, progress);
    if (!hooked) co_return hooked.error();
    auto validated = ValidateStage::pass(*hooked, progress);
    if (!validated) co_return validated.error();
    auto unique = co_await stage.admit.pass(*validated, progress);
    if (!unique) co_return unique.error();
    auto approved = co_await stage.approve.pass(*unique, progress);
    if (!approved) co_return approved.error();
    auto admitted = co_await LimitStage::pass(*approved, progress);
    if (!admitted) co_return admitted.error();
    auto recorded = co_await stage.record.pass(*admitted, progress);
    if (!recorded) co_return recorded.error();
    auto outcome = co_await stage.dispatch.pass(*recorded, sink, progress);
    co_return co_await stage.settle.pass(std::move(outcome), progress);
}

/// Audit record and metrics; what the front is told.
CallEnd Pipeline::finish(OutcomeRef outcome, const FrameSink& sink, CallInProgress& progress) {
    loop_.arguments.shrink();
    stages_->results.shrink();
    const Call& call = progress.call();
    progress.facts.sent = sink.sent(*outcome);
    progress.reach_now(Stage::kFinished);
    CallFacts& facts = progress.facts;
    facts.policy = progress.policy;
    facts.cancelled_by = progress.entry.cancelled_by();
    if (call.inquirer != nullptr) facts.input_rounds = call.inquirer->rounds();
    if (facts.sent && !facts.sent->gave_up.empty())
        facts.cause = facts.sent->gave_up;
    else if (ended_by_caller(progress, *outcome))
        facts.cause = "CLIENT_DEADLINE";
    const std::chrono::nanoseconds took(call.timeline.offset_ns(Stage::kFinished));
    loop_.metrics.count(facts.tool ? facts.tool->source.kind : SourceKind::kBuiltIn,
                        status_of(*outcome), took, call.arguments_size(),
                        *outcome ? (*outcome)->content.size() : 0);
    if (!*outcome) loop_.metrics.count_error(outcome->error().code);
    if (facts.replayed) loop_.metrics.replays.add();
    if (!facts.dispatched && !facts.replayed) loop_.metrics.refused.add();
    loop_.shared.audit.append_call(progress.principal->id, [&](std::string& out) {
        append_call_record(out, call, *progress.principal, facts, outcome.get());
    });
    return {
        .outcome = std::move(outcome),
        .duration = progress.first_duration.value_or(took),
        .replayed = facts.replayed,
        .tool = std::move(facts.tool),
        .policy = std::move(progress.policy),
        .attempts = static_cast<std::uint32_t>(facts.attempts.size() + (facts.dispatched ? 1 : 0)),
        .approval_id = facts.approval ? std::move(facts.approval->id) : std::string(),
        .cancelled_by = progress.entry.cancelled_by()};
}

View Pipeline::view_of(const Principal& principal, std::string_view tenant) {
    const Policy& policy = *loop_.rules.get()->policy;
    return {.principal = &principal,
            .policy = &policy,
            .tenant = tenant.empty() ? policy.home_tenant(principal) : tenant,
            .prefer_source = {},
            .prefer = {}};
}

std::vector<RegistrySnapshot::Listed> Pipeline::list(const Principal& principal,
                                                     std::string_view tenant,
                                                     std::string_view after, std::size_t limit) {
    return loop_.registry.get()->list(view_of(principal, tenant), after, limit);
}

std::optional<RegistrySnapshot::ListChange> Pipeline::list_change(const Principal& principal,
                                                                  std::uint64_t since) {
    return loop_.registry.get()->list_change(view_of(principal, {}), since);
}

std::vector<RegistrySnapshot::Listed> Pipeline::list_for(View view) {
    view.policy = loop_.rules.get()->policy.get();
    auto listed = loop_.registry.get()->list(view);
    for (auto& [name, tool] : listed) {
        // Listed as qualified because others have the name too; to this caller the plain one is
        // enough.
        if (view.prefer_source.empty() || tool->source.name != view.prefer_source ||
            name == tool->spec.name)
            continue;
        const auto meant = loop_.registry.get()->resolve(view, tool->spec.name);
        if (meant && *meant == tool) name = tool->spec.name;
    }
    return listed;
}

Task<bool> Pipeline::has_recorded(const Call& call, const Principal& principal, Deadline deadline) {
    if (loop_.shared.journal == nullptr) co_return false;
    const LedgerKey key = ledger_key(call, principal);
    const auto entry = co_await loop_.shared.journal->find(key, deadline, &loop_.timers);
    co_return entry && entry->status != LedgerStatus::kAbsent;
}

Result<ToolRef> Pipeline::resolve(const Principal& principal, std::string_view tenant,
                                  std::string_view name) {
    return loop_.registry.get()->resolve(view_of(principal, tenant), name);
}

}  // namespace crab::core
