#include "core/pipeline/authorize_stage.hpp"

#include "core/pipeline/call_endings.hpp"
#include "core/policy/agent_claim.hpp"

#include <fmt/format.h>

namespace crab::core {
namespace {

/// What rules see of its arguments; of a body of bytes nothing.
CallArguments arguments_of(const Call& call, const json::Borrowed& args) {
    return call.body_type.empty() ? CallArguments(args.element()) : CallArguments::not_json();
}

}  // namespace

Result<void> AuthorizeStage::arrive(CallInProgress& progress) {
    Call& call = progress.call();
    const Principal& principal = *progress.principal;
    if (!loop_.shared.audit.accepts(principal.id)) {
        return fail(ErrorCode::kUnavailable,
                    "the audit log cannot take more records now; call again in a moment");
    }
    if (auto settled = settle(progress); !settled) return settled;
    if (loop_.shared.early_cancels.take(call.tenant, principal.id, call.id,
                                        call.timeline.started()))
        return fail(ErrorCode::kCancelled, "the call was cancelled before it came");
    return {};
}

Result<void> AuthorizeStage::settle(CallInProgress& progress) {
    if (progress.rules->callers_are_gateways) progress.call().acts_for_agent = true;
    return settle_agent(progress.call(), *progress.principal, *progress.rules->policy);
}

Result<AuthorizedCall> AuthorizeStage::pass(AuthenticatedCall authenticated,
                                            CallInProgress& progress) {
    const Call& call = authenticated.call();
    const Principal& principal = *authenticated.principal();
    const CallRules& rules = *progress.rules;
    if (!call.tenant.empty() && !rules.may_act_in(principal, call.tenant)) {
        return fail(ErrorCode::kForbidden,
                    fmt::format("{} does not belong to this tenant; use a tenant_id of its own",
                                principal.id));
    }
    auto tool =
        loop_.registry.get()->resolve(progress.view(*rules.policy), call.tool, call.provider_id);
    if (!tool) return fail(std::move(tool.error()));
    progress.tool = progress.facts.tool = std::move(*tool);
    auto authorized = decide(progress.tool, progress);
    if (authorized) progress.reach(Stage::kAuthorized);
    return authorized;
}

Result<AuthorizedCall> AuthorizeStage::decide(const ToolRef& tool, CallInProgress& progress) {
    const auto args = progress.args.read();
    if (!args) return fail(args.error());
    const Call& call = progress.call();
    progress.facts.decision = progress.rules->policy->decide_call(
        *progress.principal, *tool, arguments_of(call, *args), call.tenant);
    switch (progress.facts.decision.verdict) {
        case Verdict::kAllow: return AuthorizedCall(progress.authenticated, *tool);
        case Verdict::kDeny:
            return fail(ErrorCode::kForbidden,
                        fmt::format("{} may not make this call ({})", progress.principal->id,
                                    progress.facts.decision.rule));
        // asked for once the call is known to be good
        case Verdict::kNeedsApproval: return AuthorizedCall(progress.authenticated, *tool);
    }
    return fail(ErrorCode::kInternal, "no verdict");
}

Result<AuthorizedCall> AuthorizeStage::decide_again(const AuthorizedCall& before,
                                                    CallInProgress& progress) {
    progress.newer = loop_.rules.get();
    const Policy& policy = *progress.newer->policy;
    auto tool = loop_.registry.get()->resolve(progress.view(policy), before.tool().unique_name);
    if (!tool)
        return fail(ErrorCode::kUnavailable,
                    "the tool left, or is not yours to call any more, while the call waited for "
                    "its approval; it was not run");
    if (!stands_in_for(**tool, before.tool()))
        return fail(ErrorCode::kUnavailable,
                    "the tool changed while the call waited for its approval, so it was not run; "
                    "call again");
    const auto args = progress.args.read();
    if (!args) return fail(args.error());
    const Call& call = progress.call();
    progress.facts.decision =
        policy.decide_call(*progress.principal, **tool, arguments_of(call, *args), call.tenant);
    if (progress.facts.decision.verdict == Verdict::kDeny) {
        return fail(ErrorCode::kForbidden,
                    fmt::format("{} may not make this call any more ({})", progress.principal->id,
                                progress.facts.decision.rule));
    }
    // The tool as it was judged before is the caller's to keep alive.
    progress.facts.tool = std::move(*tool);
    return AuthorizedCall(progress.authenticated, *progress.facts.tool);
}

}  // namespace crab::core
