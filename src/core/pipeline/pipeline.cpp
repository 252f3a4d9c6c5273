#include "core/pipeline/pipeline.hpp"

#include "base/cut_text.hpp"
#include "base/exception_text.hpp"
#include "base/log.hpp"
#include "core/approvals/approvals.hpp"
#include "core/call/artifact.hpp"
#include "core/call/content_digest.hpp"
#include "core/call/tool_host.hpp"
#include "core/ledger/ledger_content.hpp"
#include "core/pipeline/late_call.hpp"
#include "core/pipeline/parsed_arguments.hpp"
#include "core/policy/agent_claim.hpp"
#include "core/registry/absent_tool.hpp"
#include "json/duplicates.hpp"
#include "json/element.hpp"
#include "json/schema/schema.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <exception>
#include <ranges>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::core {
namespace {

std::shared_ptr<const Outcome> ended(Error error) {
    return std::make_shared<const Outcome>(fail(std::move(error)));
}
std::shared_ptr<const Outcome> ended(ErrorCode code, std::string message) {
    return std::make_shared<const Outcome>(fail(code, std::move(message)));
}

Error conflict() {
    return fail(ErrorCode::kConflict,
                "this call id or idempotency key was used for a call with other content; use a new "
                "one")
        .error();
}
Error not_recorded() {
    return fail(ErrorCode::kUnavailable,
                "this call could not be recorded, so it was not run; free disk space or ask the "
                "operator")
        .error();
}
Error crowded() {
    return {.code = ErrorCode::kRateLimited,
            .message =
                "as many repeats as may wait for a running call do so already, and this one was "
                "not run; ask again with the same id when the call has ended",
            .details = {},
            .retryable = true,
            .retry_after = Milliseconds(1'000)};
}
Error too_late() {
    return fail(ErrorCode::kTimeout,
                "the deadline passed before the call was sent, so it was not run; call again with "
                "more time")
        .error();
}
/// Why a call was not approved. Details: the question, so that its answer can be had and the call
/// made again.
Error not_approved(const ApprovalEnd& end, std::string_view rule) {
    const std::string details =
        end.id.empty()
            ? std::string()
            : fmt::format(R"({{"approval_id":"{}","approval":"{}"}})", end.id, name_of(end.state));
    const auto refused = [&](ErrorCode code, std::string message) {
        return fail(code, std::move(message), details).error();
    };
    const std::string next = end.id.empty() ? std::string("nothing like it can run here")
                                            : fmt::format(
                                                  "have it allowed with `crab approvals allow {}`, "
                                                  "then call again within ten minutes",
                                                  end.id);
    switch (end.state) {
        case ApprovalState::kDenied:
            return refused(
                ErrorCode::kForbidden,
                end.remembered
                    ? fmt::format("{} has denied such calls (decision {})", end.by, end.id)
                    : fmt::format("{} has denied this call (approval {})", end.by, end.id));
        case ApprovalState::kUnattended:
            return refused(
                ErrorCode::kApprovalRequired,
                fmt::format("this call needs an approval ({}), and there is nobody to ask: {}",
                            rule, next));
        case ApprovalState::kExpired:
            return refused(
                ErrorCode::kApprovalRequired,
                fmt::format("this call needs an approval ({}), and nobody decided in time: {}",
                            rule, next));
        case ApprovalState::kCrowded:
            return refused(ErrorCode::kRateLimited,
                           "too many calls wait for an approval; call again later");
        case ApprovalState::kWithdrawn:
            return refused(ErrorCode::kUnauthenticated,
                           "your credential was revoked while the call waited for its approval");
        case ApprovalState::kStopped:
            return refused(
                ErrorCode::kUnavailable,
                "the gateway is stopping and asks for no approval; call again when it is back");
        case ApprovalState::kCancelled:
            return refused(ErrorCode::kCancelled,
                           "the call was cancelled while it waited for its approval");
        case ApprovalState::kPending:
        case ApprovalState::kAllowed: break;
    }
    return refused(ErrorCode::kInternal, "no decision about the approval");
}
/// What rules see of its arguments; of a body of bytes nothing.
CallArguments arguments_of(const Call& call, simdjson::dom::element args) {
    return call.body_type.empty() ? CallArguments(args) : CallArguments::unseen();
}
/// What an approver sees of arguments that are no JSON.
std::string body_in_words(const Call& call) {
    std::string text;
    json::Writer writer(text);
    writer.begin_object()
        .key("content_type")
        .string_lossy(call.body_type)
        .key("bytes")
        .unsigned_integer(call.body.size())
        .end_object();
    return text;
}
Error cancelled() { return fail(ErrorCode::kCancelled, "the call was cancelled").error(); }

/// The first violations as one message, all of them as details.
Error invalid_arguments(const std::vector<json::SchemaViolation>& violations) {
    constexpr std::size_t kInMessage = 3;
    std::string message;
    for (const auto& violation : violations | std::views::take(kInMessage)) {
        if (!message.empty()) message += "; ";
        message += violation.message;
    }
    return fail(ErrorCode::kInvalidArgs, std::move(message),
                fmt::format(R"({{"errors":{}}})", json::to_json(violations)))
        .error();
}

Error wrong_type(const Tool& tool, std::string_view type) {
    std::string quoted;
    json::append_quoted_lossy(quoted, cut_text(type, 64));
    return fail(ErrorCode::kInvalidArgs,
                fmt::format("{} takes no arguments of the type {}; send a JSON object{}{}",
                            tool.spec.name, quoted, tool.spec.accepts.empty() ? "" : " or ",
                            fmt::join(tool.spec.accepts, ", ")))
        .error();
}

/// Whether the tool may have run although the call ended so; no host's word makes that safe to
/// repeat.
bool is_in_doubt(ErrorCode code) {
    return code == ErrorCode::kTimeout || code == ErrorCode::kCancelled ||
           code == ErrorCode::kOutcomeUnknown;
}

/// Whether the caller's own deadline ended it. Its clock began before ours, so its cancel may come
/// shortly before the deadline does.
bool ended_by_caller(const Call& call, const RunningCalls::Entry& entry, const Outcome& outcome) {
    constexpr Milliseconds kOnTheWay{250};
    if (outcome || entry.cancelled_by_id()) return false;
    const ErrorCode code = outcome.error().code;
    const SteadyTime ended = call.timeline.started() +
                             std::chrono::nanoseconds(call.timeline.offset_ns(Stage::kFinished));
    return (code == ErrorCode::kTimeout && ended >= call.caller_deadline) ||
           (code == ErrorCode::kCancelled && ended + kOnTheWay >= call.caller_deadline);
}

/// Whether a second run under the same key has no second effect; calls to such a tool have the key
/// of the first attempt.
bool may_run_again(const Tool& tool) {
    return tool.spec.idempotent || tool.spec.accepts_idempotency_key;
}

/// A call whose id we made ourselves cannot be repeated by anybody, so the ledger in memory need
/// not know it.
bool can_be_repeated(const Call& call) {
    return !call.idempotency_key.empty() || call.id.data() != call.made_id.view().data();
}
LedgerKey ledger_key(const Call& call, const Principal& principal) {
    return {.tenant = call.tenant,
            .principal = principal.id,
            .key = call.idempotency_key.empty() ? call.id : call.idempotency_key};
}

/// Whether the caller's going ended it, or the caller's own deadline: not the tool, its limits, or
/// somebody by the call's id.
bool is_left(const Outcome& outcome, const Call& call, const RunningCalls::Entry& entry,
             Deadline deadline, const TaskChain& chain) {
    if (outcome) return false;
    const ErrorCode code = outcome.error().code;
    const bool gone = chain.cancelled() && !entry.cancelled_by_id();
    if (code == ErrorCode::kTimeout) return gone || deadline == call.caller_deadline;
    return code == ErrorCode::kCancelled && gone;
}

/// Whether a repeat under the same key may run again although this call ended so.
bool leaves_no_trace(const Outcome& outcome, const Tool& tool, bool dispatched) {
    if (outcome) return false;
    const Error& error = outcome.error();
    if (dispatched && is_in_doubt(error.code)) return may_run_again(tool);
    return !dispatched || error.may_retry();
}

/// Of the exception that is being handled.
void log_thrown(std::string_view event, std::string_view who, const Call& call) {
    log::error(event, {{"name", who},
                       {"call_id", call.id},
                       {"trace_id", call.context.trace_id},
                       {"reason", text_of(std::current_exception())}});
}

/// An escalation that somebody allowed before; a decision of now is logged by whoever hears it.
void log_remembered(const Call& call, const ApprovalSubject& approved, const ApprovalEnd& end) {
    const bool privileged =
        approved.privilege == Privilege::kPrivileged || approved.network == Network::kFullAccess;
    if (!privileged && approved.privilege != Privilege::kElevated) return;
    log::write(privileged ? log::Level::kWarn : log::Level::kInfo,
               "a call runs by an approval given before",
               {{"approval", end.id},
                {"principal", approved.principal},
                {"tool", approved.tool},
                {"call_id", call.id},
                {"trace_id", call.context.trace_id},
                {"by", end.by},
                {"scope", name_of(end.scope)},
                {"privilege", name_of(approved.privilege)},
                {"network", name_of(approved.network)}});
}

/// What is known of a call that was recorded and whose end was not.
Error unknown_since(SystemTime admitted_at) {
    const std::string at = to_rfc3339(admitted_at);
    return {.code = ErrorCode::kOutcomeUnknown,
            .message = fmt::format("this call was sent at {} and the gateway stopped before it had "
                                   "an answer: it may or may not have run; look at the "
                                   "tool's effects, then use a new key",
                                   at),
            .details = fmt::format(R"({{"admitted_at":"{}"}})", at),
            .retryable = false,
            .retry_after = {}};
}

/// The same of a tool that may run again, and is not there to do so. `why`: what was found in its
/// place.
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
Error not_read() {
    return fail(Error{.code = ErrorCode::kUnavailable,
                      .message = "whether this call ran before could not be found out, so nothing "
                                 "was run; call again with the same id and key",
                      .details = {},
                      .retryable = true,
                      .retry_after = Milliseconds(1'000)})
        .error();
}
/// The same of a call that an older program recorded in a way that does not say what it was.
Error recorded_otherwise(SystemTime admitted_at) {
    const std::string at = to_rfc3339(admitted_at);
    return {.code = ErrorCode::kOutcomeUnknown,
            .message = fmt::format("a call of this key was recorded at {} by an older gateway, and "
                                   "whether it was this one cannot be told; look at the tool's "
                                   "effects, then use a new key",
                                   at),
            .details = fmt::format(R"({{"admitted_at":"{}"}})", at),
            .retryable = false,
            .retry_after = {}};
}

/// Whether what was authorized, validated and made durable for `before` holds for `now`, a later
/// registration, as well.
bool stands_in_for(const Tool& now, const Tool& before) {
    return now.unique_name == before.unique_name && now.source_text == before.source_text &&
           now.spec.input_schema == before.spec.input_schema &&
           now.spec.idempotent >= before.spec.idempotent &&
           now.spec.accepts_idempotency_key >= before.spec.accepts_idempotency_key &&
           now.spec.effects() <= before.spec.effects();
}

}  // namespace

/// What one call needs while it is worked on.
struct Pipeline::Working {
    std::shared_ptr<const CallRules> rules;   ///< one set of rules from beginning to end …
    /// … but for the policy after an approval, which `facts.decision` views
    std::shared_ptr<const CallRules> newer;
    CallFacts facts;
    RunningCalls::Entry* entry = nullptr;
    WhileRunning repeats = WhileRunning::kJoin;
    ParsedArguments args;
    bool hooked = false;
    bool counted = false;                     ///< by the rates
    ToolGate::Permit permit;                  ///< of the gate of `facts.tool`
    std::int64_t journal_number = 0;          ///< of the durable entry; 0: there is none
    std::optional<std::string> place;         ///< where an approval lets the call run
    std::shared_ptr<LateCall> late;           ///< the host answered and its tool goes on
    std::optional<FirstCaller> first;  ///< while the call is out to its host and can be repeated
    std::shared_ptr<const EffectivePolicy> policy;  ///< of tools with limits
    UuidText request_id;  ///< of the event that tells of the dispatch
    std::unique_ptr<NewEvent> request;  ///< that event, until it is told; null: nobody wants it
    /// As the first answer tells it, and every replay after it
    std::optional<std::chrono::nanoseconds> first_duration;
};

Pipeline::Pipeline(CallServices services, const Executor& home, TimerWheel& timers, IdSource& ids)
    : services_(services),
      home_(home),
      timers_(timers),
      ids_(ids),
      registry_(services.registry.published()),
      rules_(services.rules),
      running_(home, services.clock) {}

View Pipeline::view_of(const Principal& principal, std::string_view tenant) {
    const Policy& policy = *rules_.get()->policy;
    return {.principal = &principal,
            .policy = &policy,
            .tenant = tenant.empty() ? policy.home_tenant(principal) : tenant,
            .prefer_source = {},
            .prefer = {}};
}

std::vector<RegistrySnapshot::Listed> Pipeline::list(const Principal& principal,
                                                     std::string_view tenant,
                                                     std::string_view after, std::size_t limit) {
    return registry_.get()->list(view_of(principal, tenant), after, limit);
}

std::vector<RegistrySnapshot::Listed> Pipeline::list_for(View view) {
    view.policy = rules_.get()->policy.get();
    auto listed = registry_.get()->list(view);
    for (auto& [name, tool] : listed) {
        // Listed as qualified because others have the name too; to this caller the plain one is
        // enough.
        if (view.prefer_source.empty() || tool->source.name != view.prefer_source ||
            name == tool->spec.name)
            continue;
        const auto meant = registry_.get()->resolve(view, tool->spec.name);
        if (meant && *meant == tool) name = tool->spec.name;
    }
    return listed;
}

Result<ToolRef> Pipeline::resolve(const Principal& principal, std::string_view tenant,
                                  std::string_view name) {
    return registry_.get()->resolve(view_of(principal, tenant), name);
}

Task<CallEnd> Pipeline::run(AuthenticatedCall authenticated, FrameSink& sink,
                            WhileRunning repeats) {
    Call& call = authenticated.call();
    const PrincipalRef principal = authenticated.principal();
    if (call.id.empty()) {
        call.made_id = ids_.uuid_v7();
        call.id = call.made_id.view();
    }
    call.timeline.start(services_.clock.steady_now(), services_.clock.system_now());
    Working working{.rules = rules_.get(),
                    .newer = {},
                    .facts = {},
                    .entry = nullptr,
                    .args = ParsedArguments(parser_, call),
                    .hooked = false,
                    .counted = false,
                    .permit = {},
                    .journal_number = 0,
                    .place = {},
                    .late = {},
                    .first = {},
                    .policy = {},
                    .request_id = {},
                    .request = {},
                    .first_duration = {}};
    if (call.tenant.empty()) call.tenant = working.rules->policy->home_tenant(*principal);
    RunningCalls::Entry entry(running_, call, *principal);
    working.entry = &entry;
    working.repeats = repeats;

    OutcomeRef outcome = co_await process(authenticated, sink, working);
    (co_await this_chain()).forget_cancellation();
    if (working.hooked) co_await tell_hooks(call, *principal, working, *outcome);
    working.facts.sent = sink.sent(*outcome);
    finish(call, *principal, working, *outcome);
    CallEnd end{.outcome = std::move(outcome),
                .duration = working.first_duration.value_or(
                    std::chrono::nanoseconds(call.timeline.offset_ns(Stage::kFinished))),
                .replayed = working.facts.replayed,
                .tool = std::move(working.facts.tool),
                .policy = std::move(working.policy),
                .attempts = static_cast<std::uint32_t>(working.facts.attempts.size() +
                                                       (working.facts.dispatched ? 1 : 0)),
                .approval_id =
                    working.facts.approval ? std::move(working.facts.approval->id) : std::string(),
                .cancelled_by = entry.cancelled_by()};
    co_return end;
}

Task<Pipeline::OutcomeRef> Pipeline::process(AuthenticatedCall authenticated, FrameSink& sink,
                                             Working& working) {
    Call& call = authenticated.call();
    const auto reach = [&](Stage stage, SteadyTime at) {
        call.timeline.reach(stage, at);
        working.entry->reach(stage);
    };
    if (!services_.audit.accepts(authenticated.principal()->id)) {
        co_return ended(ErrorCode::kUnavailable,
                        "the audit trail cannot take more records now; call again in a moment");
    }
    if (working.rules->callers_are_gateways) call.acts_for_agent = true;
    if (auto settled = settle_agent(call, *authenticated.principal(), *working.rules->policy);
        !settled)
        co_return ended(std::move(settled.error()));
    if (services_.early_cancels.take(call.tenant, authenticated.principal()->id, call.id,
                                     call.timeline.started())) {
        co_return ended(ErrorCode::kCancelled, "the call was cancelled before it came");
    }
    auto authorized = resolve_and_authorize(authenticated, working);
    if (!authorized) {
        // The ledger is asked before the catalogue has the last word: the call may have run while
        // its tool was there.
        const bool leads_nowhere =
            !working.facts.tool && authorized.error().code != ErrorCode::kForbidden;
        OutcomeRef known =
            leads_nowhere ? co_await recall(authenticated, nullptr, authorized.error(), working)
                          : nullptr;
        co_return known ? std::move(known) : ended(std::move(authorized.error()));
    }
    reach(Stage::kAuthorized, services_.clock.steady_now());

    ToolRef tool = working.facts.tool;
    for (const auto& hook : working.rules->hooks)
        working.hooked = working.hooked || hook->applies_to(*tool);
    if (working.hooked) {
        auto hooked = co_await ask_hooks(*authorized, working);
        if (!hooked) co_return ended(std::move(hooked.error()));
        authorized = std::move(hooked);
        reach(Stage::kHooked, services_.clock.steady_now());
    }

    auto validated = validate(*authorized, working);
    if (!validated) co_return ended(std::move(validated.error()));
    SteadyTime now = services_.clock.steady_now();
    reach(Stage::kValidated, now);

    if (tool->limits) {
        auto effective = effective_policy(*tool->limits, call.policy, call.timeout);
        if (!effective) co_return ended(std::move(effective.error()));
        working.policy = std::make_shared<const EffectivePolicy>(std::move(*effective));
    }
    const Milliseconds allowed =
        working.policy
            ? working.policy->timeout
            : std::min(call.timeout.value_or(tool->spec.default_timeout), tool->spec.max_timeout);
    Deadline limit = call.timeline.started() + allowed;
    Deadline deadline = std::min(call.caller_deadline, limit);

    auto args = working.args.read();
    if (!args) co_return ended(std::move(args.error()));
    Ledger::Ticket ticket;
    const bool repeatable = can_be_repeated(call);
    const bool recorded = tool->spec.side_effects || !call.idempotency_key.empty();
    const bool durable = services_.journal != nullptr && recorded;
    const ContentDigest digest =
        recorded ? digest_of(call, *tool, {}, args->element()) : ContentDigest{};
    const std::uint64_t content = recorded     ? content_of(digest)
                                  : repeatable ? content_of(call, *tool, args->element())
                                               : 0;
    const LedgerKey key = ledger_key(call, *authenticated.principal());
    while (repeatable) {
        auto answer = services_.ledger.admit(key, content, home_, timers_, working.repeats);
        if (answer.admission == Admission::kNew) {
            ticket = std::move(answer.ticket);
            break;
        }
        if (answer.admission == Admission::kConflict) {
            OutcomeRef known =
                durable ? co_await recall(authenticated, tool, conflict(), working) : nullptr;
            co_return known ? std::move(known) : ended(conflict());
        }
        if (OutcomeRef known =
                co_await repeat_of(authenticated, std::move(answer), deadline, working))
            co_return known;
        now = services_.clock.steady_now();
    }
    reach(Stage::kAdmitted, now);

    if (auto taken = count_call(*authenticated.principal(), working); !taken)
        co_return ended(std::move(taken.error()));
    auto approved = Result<ApprovedCall>(ApprovedCall(validated->authorized()));
    const bool must_ask = working.facts.decision.verdict == Verdict::kNeedsApproval ||
                          (working.policy && working.policy->needs_approval());
    if (must_ask) {
        reach(Stage::kAsked, now);
        approved = co_await ask_approval(*validated, deadline, working);
        if (!approved) co_return ended(std::move(approved.error()));
        tool = working.facts.tool;
        now = services_.clock.steady_now();
        reach(Stage::kApproved, now);
        const auto waited = call.approval_stops_clock ? working.facts.approval->waited
                                                      : std::chrono::nanoseconds(0);
        limit = call.timeline.started() + allowed + waited;
        deadline = std::min(call.caller_deadline, limit);
    }
    AdmittedCall admitted(*approved, deadline, working.place);
    admitted.late_ = &working.late;
    if (tool->gate) {
        auto entered = co_await tool->gate->enter(timers_, deadline);
        if (!entered) co_return ended(std::move(entered.error()));
        working.permit = std::move(*entered);
        now = services_.clock.steady_now();
    }
    reach(Stage::kLimited, now);

    if (services_.events != nullptr && services_.events->wants(*tool)) {
        working.request_id = ids_.uuid_v7();
        working.request = services_.events->request(admitted, working.request_id);
    }
    if (durable) {
        if (OutcomeRef known = co_await record_admission(admitted, key, digest, ticket, working))
            co_return known;
    } else if (tool->spec.side_effects) {
        std::string record;
        append_call_record(record, call, *authenticated.principal(), working.facts, nullptr);
        auto stored = co_await services_.audit.append_durable(std::move(record));
        if (!stored) co_return ended(not_recorded());
    }
    const auto forget = [&] {
        if (working.journal_number != 0) services_.journal->release(working.journal_number);
    };
    // Not every wait above ends with the cancellation or at the deadline.
    if ((co_await this_chain()).cancelled()) {
        forget();
        co_return ended(cancelled());
    }
    if (services_.clock.steady_now() >= deadline) {
        forget();
        co_return ended(too_late());
    }
    if (repeatable) working.first.emplace(services_.ledger, key, call, co_await this_chain());
    if (repeatable && call.on_overtime) {  // others may join, and have more time than the caller
        admitted.deadline_ = limit;
        working.first->has_its_own_deadline(timers_);
    }
    Task<OutcomeRef> sending = working.request ? tell_of_dispatch(admitted, sink, working)
                                               : dispatch(admitted, sink, working);
    OutcomeRef outcome = co_await std::move(sending);
    working.first.reset();
    if (working.late) {
        leave(*working.late, working, std::move(ticket), call.timeline.started());
        co_return outcome;
    }
    working.permit = {};
    if (leaves_no_trace(*outcome, *tool, working.facts.dispatched)) {
        forget();
        ticket.finish(nullptr);
        co_return outcome;
    }
    // A replay tells the same duration as the first answer did.
    working.first_duration = services_.clock.steady_now() - call.timeline.started();
    // Nobody asked for the end of a call whose caller left: a repeat has to hear that it may have
    // run.
    const bool left =
        is_left(*outcome, call, *working.entry, admitted.deadline_, co_await this_chain());
    const OutcomeRef kept =
        left ? ended(ErrorCode::kOutcomeUnknown,
                     "the caller left while this call ran; it may or may not have taken effect")
             : outcome;
    // An end that cannot be stored leaves the entry open: in a later life the outcome is unknown,
    // and in this one memory knows it.
    if (working.journal_number != 0)
        (void)co_await services_.journal->end(working.journal_number, kept,
                                              *working.first_duration);
    ticket.finish(kept, *working.first_duration);
    co_return outcome;
}

std::shared_ptr<LateCall> AdmittedCall::leave_running() const {
    auto late = std::make_shared<LateCall>();
    if (late_ != nullptr) *late_ = late;
    return late;
}

/// Everything that the call still occupies goes to `late`.
void Pipeline::leave(LateCall& late, Working& working, Ledger::Ticket ticket, SteadyTime started) {
    late.pipeline_ = this;
    late.tool_ = working.facts.tool;
    late.rules_ = working.rules;
    late.permit_ = std::move(working.permit);
    late.ticket_ = std::move(ticket);
    late.journal_number_ = std::exchange(working.journal_number, 0);
    late.started_ = started;
}

Task<void> LateCall::finish(Outcome outcome) {
    if (pipeline_ != nullptr) co_await pipeline_->finish_late(*this, std::move(outcome));
}

Task<void> Pipeline::finish_late(LateCall& late, Outcome given) {
    const Tool& tool = *late.tool_;
    auto outcome =
        std::make_shared<const Outcome>(check_result(tool, std::move(given), *late.rules_));
    late.permit_ = {};
    if (leaves_no_trace(*outcome, tool, true)) {
        if (late.journal_number_ != 0) services_.journal->release(late.journal_number_);
        late.ticket_.finish(nullptr);
        co_return;
    }
    if (!*outcome && is_in_doubt(outcome->error().code)) {
        outcome = ended(ErrorCode::kOutcomeUnknown,
                        "the first call of this key was given up before its tool ended, and the "
                        "tool does not say what it did");
    }
    const std::chrono::nanoseconds duration = services_.clock.steady_now() - late.started_;
    if (late.journal_number_ != 0)
        (void)co_await services_.journal->end(late.journal_number_, outcome, duration);
    late.ticket_.finish(std::move(outcome), duration);
}

/// For the rates of `facts.tool`, once; repeats that wait count as well.
Result<void> Pipeline::count_call(const Principal& principal, Working& working) {
    if (std::exchange(working.counted, true)) return {};
    return working.rules->rates->take(principal, *working.facts.tool, services_.clock.steady_now());
}

/// What a repeat gets of the first call, which runs or has ended; null: that left nothing, so this
/// one may run.
Task<Pipeline::OutcomeRef> Pipeline::repeat_of(AuthenticatedCall call, Ledger::Answer first,
                                               Deadline deadline, Working& working) {
    if (first.admission == Admission::kConflict) co_return ended(conflict());
    if (first.admission == Admission::kBusy) {
        co_return ended(ErrorCode::kAlreadyInProgress,
                        "a stream of this call id is running; wait for it to end, then ask again");
    }
    if (first.admission == Admission::kReplay) {
        working.facts.replayed = true;
        working.first_duration = first.duration;
        co_return std::move(first.outcome);
    }
    if (first.admission == Admission::kCrowded) co_return ended(crowded());
    if (auto taken = count_call(*call.principal(), working); !taken)
        co_return ended(std::move(taken.error()));
    const WaitEnd end = co_await first.joiner->wait(deadline);
    if (end == WaitEnd::kCancelled) co_return ended(cancelled());
    if (end == WaitEnd::kExpired)
        co_return ended(ErrorCode::kTimeout,
                        "the first call with this id has not ended before the deadline");
    working.facts.replayed = first.joiner->outcome != nullptr;
    co_return first.joiner->outcome;
}

/// What the ledger knows of a call whose name leads nowhere now, or to the tool `there`, which is
/// not the one that it was made to: that one has left, or its source has not told its tools since
/// the start. The caller learns of its own calls only, as far as the rules would let it make them,
/// and hooks are asked as ever. `why`: what it is told otherwise. Null: there is nothing to tell.
Task<Pipeline::OutcomeRef> Pipeline::recall(AuthenticatedCall authenticated, ToolRef there,
                                            Error why, Working& working) {
    constexpr std::chrono::seconds kWithin{30};
    Call& call = authenticated.call();
    if (services_.journal == nullptr || !can_be_repeated(call)) co_return nullptr;
    const Deadline deadline =
        std::min(call.caller_deadline, call.timeline.started() + call.timeout.value_or(kWithin));
    const LedgerKey key = ledger_key(call, *authenticated.principal());
    auto entry = co_await services_.journal->find(key, deadline, &timers_);
    if (!entry) co_return ended(not_read());
    if (entry->standing == Standing::kAbsent || (there && entry->tool == there->unique_name))
        co_return nullptr;

    const ToolRef tool =
        absent_tool(entry->tool, entry->source,
                    {.side_effects = entry->side_effects, .idempotent = entry->may_run_again});
    if (!tool || (call.scope != nullptr && !call.scope->holds(*tool)) ||
        !working.rules->policy->may_call(*authenticated.principal(), *tool))
        co_return nullptr;
    if (!may_mean(call.tool, call.provider_id, *tool)) co_return ended(conflict());
    const auto is_asked = [&](const Tool& of) {
        return [&of](const auto& hook) { return hook->applies_to(of); };
    };
    const bool has_hooks = std::ranges::any_of(working.rules->hooks, is_asked(*tool));
    if (there && has_hooks) co_return nullptr;  // they were asked about another tool
    auto authorized = authorize(authenticated, tool, working);
    if (!authorized) co_return ended(std::move(authorized.error()));
    working.facts.tool = tool;
    if (has_hooks) {
        working.hooked = true;
        auto hooked = co_await ask_hooks(*authorized, working);
        if (!hooked) co_return ended(std::move(hooked.error()));
    }
    const auto args = working.args.read();
    if (!args) co_return ended(args.error());
    const ContentDigest digest = digest_of(call, *tool, {}, args->element());

    Ledger::Ticket ticket;
    while (true) {
        auto answer =
            services_.ledger.admit(key, content_of(digest), home_, timers_, working.repeats);
        if (answer.admission == Admission::kNew) {
            ticket = std::move(answer.ticket);
            break;
        }
        if (OutcomeRef known =
                co_await repeat_of(authenticated, std::move(answer), deadline, working))
            co_return known;
    }
    // Nobody runs it in this life, and while we have the ticket nobody begins to.
    entry = co_await services_.journal->find(key, deadline, &timers_);
    if (!entry) co_return ended(not_read());
    if (entry->standing == Standing::kAbsent) {
        working.facts.tool = there;
        co_return nullptr;
    }
    if (!entry->content) co_return ended(recorded_otherwise(entry->admitted_at));
    if (*entry->content != digest) co_return ended(conflict());
    if (entry->standing == Standing::kOpen)
        co_return ended(entry->may_run_again ? not_there_again(entry->admitted_at, why)
                                             : unknown_since(entry->admitted_at));
    working.facts.replayed = true;
    working.first_duration = entry->duration;
    ticket.finish(entry->outcome, entry->duration);
    co_return entry->outcome;
}

/// Makes the admission durable; then null. Else what an earlier life of the gateway, or memory that
/// was since reused, knew of the call: its outcome, which is given to all who wait, or the reason
/// why it must not run.
Task<Pipeline::OutcomeRef> Pipeline::record_admission(AdmittedCall admitted, LedgerKey key,
                                                      ContentDigest content, Ledger::Ticket& ticket,
                                                      Working& working) {
    const Tool& tool = admitted.tool();
    LedgerJournal::Admission admission{.content = content,
                                       .may_run_again = may_run_again(tool),
                                       .tool = tool.unique_name,
                                       .source = tool.source_text,
                                       .side_effects = tool.spec.side_effects,
                                       .record = {}};
    if (tool.spec.side_effects) {
        if (services_.audit.failing()) co_return ended(not_recorded());
        append_call_record(admission.record, admitted.call(), *admitted.principal(), working.facts,
                           nullptr);
    }
    if (working.request) {
        admission.event = working.request->event.envelope;
        admission.addressee = working.request->event.addressee;
    }
    const std::string record = admission.record;
    const auto entry =
        co_await services_.journal->admit(key, std::move(admission), admitted.deadline(), &timers_);
    if (!entry) {
        const ErrorCode code = entry.error().code;
        const bool told = code == ErrorCode::kTimeout || code == ErrorCode::kRateLimited ||
                          code == ErrorCode::kCancelled;
        co_return ended(told ? entry.error() : not_recorded());
    }
    switch (entry->standing) {
        case Standing::kAdmitted:
            working.journal_number = entry->number;
            if (!record.empty())
                services_.audit.append_call(admitted.principal()->id,
                                            [&](std::string& out) { out += record; });
            break;
        case Standing::kFinished:
            working.facts.replayed = true;
            working.first_duration = entry->duration;
            ticket.finish(entry->outcome, entry->duration);
            co_return entry->outcome;
        case Standing::kConflict: {
            ticket.finish(nullptr);
            OutcomeRef known = co_await recall(
                AuthenticatedCall(admitted.authorized_.call(), admitted.principal()),
                working.facts.tool, conflict(), working);
            co_return known ? std::move(known) : ended(conflict());
        }
        case Standing::kOpen: co_return ended(unknown_since(entry->admitted_at));
        case Standing::kIncomparable: co_return ended(recorded_otherwise(entry->admitted_at));
        case Standing::kAbsent: co_return ended(ErrorCode::kInternal, "the ledger gave no answer");
    }
    co_return nullptr;
}

Result<AuthorizedCall> Pipeline::resolve_and_authorize(AuthenticatedCall authenticated,
                                                       Working& working) {
    Call& call = authenticated.call();
    const Principal& principal = *authenticated.principal();
    if (!call.tenant.empty() && !may_act_in(principal, call.tenant)) {
        return fail(ErrorCode::kForbidden,
                    fmt::format("{} does not belong to this tenant; use a tenant_id of its own",
                                principal.id));
    }
    const View view{.principal = &principal,
                    .policy = working.rules->policy.get(),
                    .tenant = call.tenant,
                    .prefer_source = call.prefer_source,
                    .prefer = call.prefer_connection,
                    .scope = call.scope};
    auto tool = registry_.get()->resolve(view, call.tool, call.provider_id);
    if (!tool) return fail(std::move(tool.error()));
    working.facts.tool = std::move(*tool);
    return authorize(authenticated, working.facts.tool, working);
}

Result<AuthorizedCall> Pipeline::authorize(AuthenticatedCall authenticated, const ToolRef& tool,
                                           Working& working) {
    const auto args = working.args.read();
    if (!args) return fail(args.error());
    const Policy& policy = *working.rules->policy;
    working.facts.decision = policy.decide_call(*authenticated.principal(), *tool,
                                                arguments_of(authenticated.call(), args->element()),
                                                authenticated.call().tenant);
    switch (working.facts.decision.verdict) {
        case Verdict::kAllow: return AuthorizedCall(authenticated, *tool);
        case Verdict::kDeny:
            return fail(ErrorCode::kForbidden,
                        fmt::format("{} may not make this call ({})", authenticated.principal()->id,
                                    working.facts.decision.rule));
        // asked for once the call is known to be good
        case Verdict::kNeedsApproval: return AuthorizedCall(authenticated, *tool);
    }
    return fail(ErrorCode::kInternal, "no verdict");
}

Task<Result<AuthorizedCall>> Pipeline::ask_hooks(AuthorizedCall authorized, Working& working) {
    Call& call = authorized.call();
    const ToolRef tool = working.facts.tool;
    const Milliseconds allowed =
        std::min(call.timeout.value_or(tool->spec.default_timeout), tool->spec.max_timeout);
    const Deadline deadline = std::min(call.caller_deadline, call.timeline.started() + allowed);
    for (const auto& hook : working.rules->hooks) {
        if (!hook->applies_to(*tool)) continue;
        const SteadyTime before = services_.clock.steady_now();
        HookAnswer answer = Proceed{};
        try {
            HookView view{.call = call,
                          .tool = *tool,
                          .principal = *authorized.principal(),
                          .deadline = deadline,
                          .timers = timers_};
            answer = co_await hook->before(view);
        } catch (...) {
            log_thrown("a hook failed before a call, which is denied", hook->name(), call);
            answer = Deny{fmt::format("the hook {} failed", hook->name())};
        }
        const auto note = [&](std::string_view word) {
            working.facts.hooks.push_back({std::string(hook->name()), std::string(word),
                                           services_.clock.steady_now() - before});
        };
        if (const auto* deny = std::get_if<Deny>(&answer)) {
            note("deny");
            co_return fail(deny->code, deny->reason.empty()
                                           ? fmt::format("denied by the hook {}", hook->name())
                                           : deny->reason);
        }
        if (auto* replace = std::get_if<Replace>(&answer)) {
            note("replace");
            working.args.replace(std::move(replace->args));
            AuthenticatedCall again(call, authorized.principal());
            auto decided = authorize(again, tool, working);
            if (!decided) co_return fail(std::move(decided.error()));
        } else {
            note("proceed");
        }
        if ((co_await this_chain()).cancelled()) co_return fail(cancelled());
    }
    co_return authorized;
}

Result<ValidatedCall> Pipeline::validate(AuthorizedCall authorized, Working& working) {
    const auto args = working.args.read();
    if (!args) return fail(args.error());
    const Tool& tool = authorized.tool();
    if (const std::string_view type = authorized.call().body_type; !type.empty()) {
        if (!tool.spec.takes(type)) return fail(wrong_type(tool, type));
        return ValidatedCall(authorized);  // bytes are the tool's own to judge
    }
    if (const auto violations = tool.input->check(args->element()); !violations.empty())
        return fail(invalid_arguments(violations));
    return ValidatedCall(authorized);
}

/// What whoever decides is shown, and what the decision will cover.
Result<ApprovalQuestion> Pipeline::question_of(const AuthorizedCall& authorized, Working& working) {
    const auto args = working.args.read();
    if (!args) return fail(args.error());
    constexpr std::size_t kMostShown = 16 * 1024;  // bytes of arguments
    const Call& call = authorized.call();
    const Tool& tool = authorized.tool();
    const Principal& principal = *authorized.principal();
    const bool by_rule = working.facts.decision.verdict == Verdict::kNeedsApproval;
    ApprovalQuestion question;
    question.id = fmt::format("{:012x}", ids_.random() & 0xffff'ffff'ffffULL);
    question.subject = {
        .tenant = std::string(call.tenant),
        .principal = principal.id,
        .tool = tool.unique_name,
        .source = tool.source_text,
        .place = working.place.value_or(""),
        .rule = by_rule ? std::string(working.facts.decision.rule) : std::string(),
        .session = std::string(call.context.session_id),
        .network = Network::kDenyAll,
        .privilege = Privilege::kMinimal,
        .content = digest_of(call, tool, working.place.value_or(""), args->element())};
    if (working.policy) {
        question.subject.network = working.policy->network;
        question.subject.privilege = working.policy->privilege;
    }
    question.call_id = call.id;
    question.trace_id = call.context.trace_id;
    question.agent = call.context.agent_id;
    question.front = call.front;
    question.credential = principal.credential_id;
    question.args =
        call.body_type.empty() ? std::string(cut_text(call.args, kMostShown)) : body_in_words(call);
    question.description = tool.spec.description;
    return question;
}

Task<Result<ApprovedCall>> Pipeline::ask_approval(ValidatedCall validated, Deadline deadline,
                                                  Working& working) {
    const AuthorizedCall& authorized = validated.authorized();
    Call& call = authorized.call();
    const auto find_place = [&]() -> Task<Result<void>> {
        auto place = co_await authorized.tool().host->place_of(call, *authorized.principal());
        if (!place) co_return fail(std::move(place.error()));
        working.place = std::move(*place);
        co_return Result<void>{};
    };
    if (auto found = co_await find_place(); !found) co_return fail(std::move(found.error()));
    auto question = question_of(authorized, working);
    if (!question) co_return fail(std::move(question.error()));
    const ApprovalSubject approved = question->subject;
    const std::string why =
        approved.rule.empty()
            ? fmt::format("{}, {}", name_of(approved.privilege), name_of(approved.network))
            : approved.rule;
    ApprovalEnd end{.id = {},
                    .state = ApprovalState::kUnattended,
                    .scope = {},
                    .by = {},
                    .remembered = false,
                    .waited = {}};
    if (services_.approvals != nullptr) {
        const Deadline until = call.approval_stops_clock ? call.caller_deadline : deadline;
        end =
            co_await services_.approvals->ask(std::move(*question), until, timers_, call.approver);
    }
    working.facts.approval = end;
    if (!end.allowed()) co_return fail(not_approved(end, why));
    if (end.remembered) log_remembered(call, approved, end);
    if (auto found = co_await find_place(); !found) co_return fail(std::move(found.error()));
    co_return check_again(validated, approved, working);
}

/// While somebody thought about it, the tool may have left or changed, and so may the rules.
Result<ApprovedCall> Pipeline::check_again(ValidatedCall validated, const ApprovalSubject& approved,
                                           Working& working) {
    const AuthorizedCall& authorized = validated.authorized();
    Call& call = authorized.call();
    working.newer = rules_.get();
    const Policy& policy = *working.newer->policy;
    const View view{.principal = authorized.principal().get(),
                    .policy = &policy,
                    .tenant = call.tenant,
                    .prefer_source = call.prefer_source,
                    .prefer = call.prefer_connection,
                    .scope = call.scope};
    auto tool = registry_.get()->resolve(view, authorized.tool().unique_name);
    if (!tool)
        return fail(ErrorCode::kUnavailable,
                    "the tool left, or is not yours to call any more, while the call waited for "
                    "its approval; it was not run");
    if (!stands_in_for(**tool, authorized.tool()))
        return fail(ErrorCode::kUnavailable,
                    "the tool changed while the call waited for its approval, so it was not run; "
                    "call again");
    const auto args = working.args.read();
    if (!args) return fail(args.error());
    working.facts.decision = policy.decide_call(*authorized.principal(), **tool,
                                                arguments_of(call, args->element()), call.tenant);
    if (working.facts.decision.verdict == Verdict::kDeny) {
        return fail(ErrorCode::kForbidden,
                    fmt::format("{} may not make this call any more ({})",
                                authorized.principal()->id, working.facts.decision.rule));
    }
    working.facts.tool = std::move(*tool);
    if (working.facts.tool->limits) {
        auto effective = effective_policy(*working.facts.tool->limits, call.policy, call.timeout);
        if (!effective) return fail(std::move(effective.error()));
        working.policy = std::make_shared<const EffectivePolicy>(std::move(*effective));
    }
    const AuthorizedCall again(AuthenticatedCall(call, authorized.principal()),
                               *working.facts.tool);
    const bool asks = working.facts.decision.verdict == Verdict::kNeedsApproval ||
                      (working.policy && working.policy->needs_approval());
    if (!asks) return ApprovedCall(again);
    const auto question = question_of(again, working);
    if (!question) return fail(question.error());
    if (!approved.covers(question->subject)) {
        return fail(ErrorCode::kUnavailable,
                    "what this call may do changed while it waited for its approval, so it was not "
                    "run; call again");
    }
    return ApprovedCall(again);
}

bool Pipeline::may_repeat(const Tool& tool, const Call& call, const Error& error) const {
    if (call.wants_stream && tool.spec.streams) return false;  // frames may have reached the caller
    if (is_in_doubt(error.code)) {
        const bool harmless = may_run_again(tool);  // id and key are those of the first attempt
        return error.code == ErrorCode::kOutcomeUnknown && harmless &&
               error.retryable.value_or(true);
    }
    return error.may_retry();
}

/// Whether the call was cancelled because its caller's own deadline passed.
bool Pipeline::out_of_time(const Working& working) {
    return working.first && working.first->out_of_time();
}

/// Why a call ends that was cancelled.
Error Pipeline::given_up(const Working& working) {
    return out_of_time(working)
               ? fail(ErrorCode::kTimeout, "the deadline passed while the call ran").error()
               : cancelled();
}

/// dispatch() between its two events, if anybody wants those.
Task<Pipeline::OutcomeRef> Pipeline::tell_of_dispatch(AdmittedCall admitted, FrameSink& sink,
                                                      Working& working) {
    const UuidText request_id = working.request_id;
    const bool told =
        services_.events->requested(std::move(*std::exchange(working.request, nullptr)));
    OutcomeRef outcome = co_await dispatch(admitted, sink, working);
    if (told)
        services_.events->ended(admitted, request_id, ids_.uuid_v7(), *outcome,
                                services_.clock.steady_now() - admitted.call().timeline.started());
    co_return outcome;
}

Task<Pipeline::OutcomeRef> Pipeline::dispatch(AdmittedCall admitted, FrameSink& sink,
                                              Working& working) {
    Call& call = admitted.authorized_.call();
    CallFacts& facts = working.facts;
    const auto reach = [&](Stage stage, SteadyTime at) {
        call.timeline.reach(stage, at);
        working.entry->reach(stage);
    };
    const std::uint32_t retries =
        working.policy ? working.policy->retries()
                       : std::min(call.policy.max_retries.value_or(working.rules->max_retries),
                                  working.rules->max_retries);
    admitted.policy_ = working.policy.get();
    admitted.first_dispatch_ = services_.clock.steady_now();
    ToolRef tool = facts.tool;
    for (;;) {
        const SteadyTime sent = services_.clock.steady_now();
        reach(Stage::kDispatched, sent);
        facts.dispatched = true;
        Outcome outcome;
        try {
            outcome = co_await tool->host->run(admitted, sink);
        } catch (...) {
            log_thrown("a tool's host failed", tool->unique_name, call);
            outcome = fail(ErrorCode::kInternal, "the tool's host failed unexpectedly");
        }
        if (!outcome && outcome.error().code == ErrorCode::kCancelled && out_of_time(working))
            outcome = fail(given_up(working));
        const SteadyTime answered = services_.clock.steady_now();
        facts.last = {.took = answered - sent,
                      .status = status_of(outcome),
                      .code = outcome ? ErrorCode::kInternal : outcome.error().code};
        reach(Stage::kAnswered, answered);
        const bool again = !outcome && static_cast<std::uint32_t>(admitted.attempt_) <= retries &&
                           may_repeat(*tool, call, outcome.error());
        if (again) {
            const Milliseconds most =
                longest_wait(working.policy ? working.policy->backoff : Backoff::kExponential,
                             admitted.attempt_);
            const auto jitter = Milliseconds(static_cast<std::int64_t>(
                ids_.random() % static_cast<std::uint64_t>(most.count() + 1)));
            const SteadyTime at =
                services_.clock.steady_now() +
                std::max(jitter, outcome.error().retry_after.value_or(Milliseconds(0)));
            if (at < admitted.deadline_) {
                Waiter pause(timers_);
                if (co_await pause.wait(at) == WaitEnd::kCancelled)
                    co_return ended(given_up(working));
                // The device may have come back with a new registration meanwhile.
                const View view{.principal = admitted.principal().get(),
                                .policy = working.rules->policy.get(),
                                .tenant = call.tenant,
                                .prefer_source = call.prefer_source,
                                .prefer = call.prefer_connection,
                                .scope = call.scope};
                auto now_there = registry_.get()->resolve(view, tool->unique_name);
                if (now_there && stands_in_for(**now_there, *tool) &&
                    co_await move_permit(**now_there, admitted.deadline_, working)) {
                    facts.attempts.push_back(facts.last);
                    metrics_.retries.add();
                    tool = facts.tool = std::move(*now_there);
                    admitted.authorized_.tool_ = tool.get();
                    ++admitted.attempt_;
                    continue;
                }
            }
        }
        Outcome checked = check_result(*tool, std::move(outcome), *working.rules);
        co_return std::make_shared<const Outcome>(std::move(checked));
    }
}

/// A registration has a gate of its own: the place at the gate of the one before is given back for
/// one at that of `next`.
Task<bool> Pipeline::move_permit(const Tool& next, Deadline deadline, Working& working) {
    if (next.gate == working.facts.tool->gate) co_return true;
    working.permit = {};
    if (!next.gate) co_return true;
    auto entered = co_await next.gate->enter(timers_, deadline);
    if (entered) working.permit = std::move(*entered);
    co_return entered.has_value();
}

Outcome Pipeline::check_result(const Tool& tool, Outcome outcome, const CallRules& rules) {
    if (!outcome) return outcome;
    if (outcome->content.size() > rules.max_result_bytes) {
        return fail(
            ErrorCode::kOversize,
            fmt::format("the result has {} bytes, more than the {} allowed; ask the tool for less",
                        outcome->content.size(), rules.max_result_bytes));
    }
    if (is_reference(*outcome)) return outcome;
    if (!tool.output) {
        if (rules.operation_ids) add_operation_id(tool, *outcome);
        return outcome;
    }
    std::string quoted;
    std::string_view text = outcome->content;
    auto root = result_parser_.parse(text);
    if (!root && outcome->kind == ContentKind::kText) {
        json::append_quoted_lossy(quoted, text);
        root = result_parser_.parse(quoted);
    }
    if (!root)
        return fail(ErrorCode::kInternal,
                    "the tool's result is not JSON although it declares an output schema; the call "
                    "may have taken effect");
    // The schema judges one of two members of a name; the caller may read the other.
    if (const auto twice = json::find_duplicate(root->element())) {
        return fail(ErrorCode::kInternal,
                    fmt::format("the tool's result has two members of one name ({}) although it "
                                "declares an output schema; the call may have taken effect",
                                *twice));
    }
    const auto violations = tool.output->check(root->element());
    if (violations.empty()) {
        if (rules.operation_ids) add_operation_id(tool, *outcome);
        return outcome;
    }
    return fail(
        ErrorCode::kInternal,
        fmt::format(
            "the tool's result breaks its own output schema ({}); the call may have taken effect",
            violations.front().message),
        fmt::format(R"({{"errors":{}}})", json::to_json(violations)));
}

/// Unless the tool gave one, or its own schema has no room for one.
void Pipeline::add_operation_id(const Tool& tool, ToolResult& result) {
    if (!tool.spec.side_effects || result.kind != ContentKind::kJson ||
        !result.content.starts_with('{'))
        return;
    const auto given = result_parser_.parse(result.content);
    if (!given || json::get_string(given->element(), "operation_id")) return;
    simdjson::dom::object members;
    if (given->element().get(members) != simdjson::SUCCESS) return;
    std::string content = fmt::format(R"({{"operation_id":"{}"{})", ids_.uuid_v7().view(),
                                      members.size() == 0 ? "" : ",");
    content.append(result.content, 1);
    if (tool.output) {
        const auto changed = result_parser_.parse(content);
        if (!changed || !tool.output->is_valid(changed->element())) return;
    }
    result.content = std::move(content);
}

Task<void> Pipeline::tell_hooks(const Call& call, const Principal& principal, Working& working,
                                const Outcome& outcome) {
    const ToolRef tool = working.facts.tool;
    for (const auto& hook : working.rules->hooks) {
        if (!hook->applies_to(*tool)) continue;
        try {
            HookView view{.call = call,
                          .tool = *tool,
                          .principal = principal,
                          .deadline = services_.clock.steady_now() + std::chrono::seconds(5),
                          .timers = timers_};
            co_await hook->after(view, outcome);
        } catch (...) {
            log_thrown("a hook failed after a call", hook->name(), call);
            working.facts.hooks.push_back({std::string(hook->name()), "failed after the call", {}});
        }
    }
}

void Pipeline::finish(Call& call, const Principal& principal, Working& working,
                      const Outcome& outcome) {
    parser_.shrink();
    result_parser_.shrink();
    Timeline& timeline = call.timeline;
    timeline.reach(Stage::kFinished, services_.clock.steady_now());
    CallFacts& facts = working.facts;
    facts.policy = working.policy;
    facts.cancelled_by = working.entry->cancelled_by();
    if (facts.sent && !facts.sent->gave_up.empty())
        facts.cause = facts.sent->gave_up;
    else if (ended_by_caller(call, *working.entry, outcome))
        facts.cause = "CLIENT_DEADLINE";
    const Status status = status_of(outcome);
    metrics_.count(facts.tool ? facts.tool->source.kind : SourceKind::kBuiltIn, status,
                   std::chrono::nanoseconds(timeline.offset_ns(Stage::kFinished)),
                   call.arguments_size(), outcome ? outcome->content.size() : 0);
    if (facts.replayed) metrics_.replays.add();
    if (!facts.dispatched && !facts.replayed) metrics_.refused.add();
    services_.audit.append_call(principal.id, [&](std::string& out) {
        append_call_record(out, call, principal, facts, &outcome);
    });
}

}  // namespace crab::core
