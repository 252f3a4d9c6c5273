#include "core/pipeline/approve_stage.hpp"

#include "base/cut_text.hpp"
#include "base/log.hpp"
#include "core/approvals/approvals.hpp"
#include "core/call/long_call.hpp"
#include "core/call/tool_host.hpp"
#include "json/writer.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace crab::core {
namespace {

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
        case ApprovalState::kTooMany:
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

/// The rule that asks, or the labels.
std::string reason_to_ask(const ApprovalSubject& subject) {
    if (!subject.rule.empty()) return subject.rule;
    return fmt::format("{}, {}", name_of(subject.privilege), name_of(subject.network));
}

/// Where the call would run, into `progress`.
Task<Result<void>> find_place(AuthorizedCall authorized, CallInProgress& progress) {
    auto place = co_await authorized.tool().host->place_of(progress.call(), *progress.principal);
    if (!place) co_return fail(std::move(place.error()));
    progress.place = std::move(*place);
    co_return Result<void>{};
}

}  // namespace

Step<ApprovedCall> ApproveStage::pass(UniqueCall unique, CallInProgress& progress) {
    if (!progress.needs_approval()) return ApprovedCall(unique);
    progress.reach(Stage::kAsked);
    return ask(unique.authorized(), progress);
}

Task<Reached<ApprovedCall>> ApproveStage::ask(AuthorizedCall authorized, CallInProgress& progress) {
    auto found = co_await find_place(authorized, progress);
    if (!found) co_return end_with(std::move(found.error()));
    auto question = question_of(authorized, progress);
    if (!question) co_return end_with(std::move(question.error()));
    const ApprovalSubject subject = question->subject;
    LongCall* const front = long_call_of(progress.call());
    if (front != nullptr) front->on_asked(question->id);

    const ApprovalEnd end = co_await wait_for_answer(std::move(*question), progress);
    if (front != nullptr) front->on_asked({});
    progress.facts.approval = end;
    if (!end.allowed()) co_return end_with(not_approved(end, reason_to_ask(subject)));
    if (end.remembered) log_remembered(progress.call(), subject, end);

    found = co_await find_place(authorized, progress);
    if (!found) co_return end_with(std::move(found.error()));
    auto again = check_again(authorized, subject, progress);
    if (!again) co_return end_with(std::move(again.error()));
    progress.tool = progress.facts.tool;
    progress.reach_now(Stage::kApproved);
    progress.set_deadline(progress.call().approval_stops_clock ? end.waited
                                                               : std::chrono::nanoseconds(0));
    co_return ApprovedCall(*again);
}

Task<ApprovalEnd> ApproveStage::wait_for_answer(ApprovalQuestion question,
                                                CallInProgress& progress) {
    const Call& call = progress.call();
    if (loop_.shared.approvals == nullptr) {
        ApprovalEnd nobody;
        nobody.state = ApprovalState::kUnattended;
        co_return nobody;
    }
    const Deadline until = call.approval_stops_clock ? call.caller_deadline : progress.deadline;
    co_return co_await loop_.shared.approvals->ask(std::move(question), until, loop_.timers,
                                                   call.approver);
}

/// What whoever decides is shown, and what the decision will cover.
Result<ApprovalQuestion> ApproveStage::question_of(const AuthorizedCall& authorized,
                                                   CallInProgress& progress) {
    const auto args = progress.args.read();
    if (!args) return fail(args.error());
    constexpr std::size_t kMostShown = 16 * 1024;  // bytes of arguments
    const Call& call = authorized.call();
    const Tool& tool = authorized.tool();
    const Principal& principal = *authorized.principal();
    const bool by_rule = progress.facts.decision.verdict == Verdict::kNeedsApproval;
    ApprovalQuestion question;
    question.id = fmt::format("{:012x}", loop_.ids.random() & 0xffff'ffff'ffffULL);
    question.subject = {
        .tenant = std::string(call.tenant),
        .principal = principal.id,
        .tool = tool.unique_name,
        .source = tool.source_text,
        .place = progress.place.value_or(""),
        .rule = by_rule ? std::string(progress.facts.decision.rule) : std::string(),
        .session = std::string(call.context.session_id),
        .network = Network::kDenyAll,
        .privilege = Privilege::kMinimal,
        .content = digest_of(call, tool, progress.place.value_or(""), args->element())};
    if (progress.policy) {
        question.subject.network = progress.policy->network;
        question.subject.privilege = progress.policy->privilege;
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

/// What the decision was about must be what would run now, or more than that.
Result<AuthorizedCall> ApproveStage::check_again(const AuthorizedCall& authorized,
                                                 const ApprovalSubject& approved,
                                                 CallInProgress& progress) {
    auto again = authorize_.decide_again(authorized, progress);
    if (!again) return again;
    if (auto bound = progress.bind_policy(); !bound) return fail(std::move(bound.error()));
    if (!progress.needs_approval()) return again;
    const auto question = question_of(*again, progress);
    if (!question) return fail(question.error());
    if (approved.covers(question->subject)) return again;
    return fail(ErrorCode::kUnavailable,
                "what this call may do changed while it waited for its approval, so it was not "
                "run; call again");
}

}  // namespace crab::core
