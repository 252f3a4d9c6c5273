#include "core/pipeline/call_check.hpp"

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/validate_stage.hpp"
#include "json/value.hpp"

#include <utility>

namespace crab::core {
namespace {

CheckedCall::Decided copy_of(const Decision& decision) {
    return {.verdict = decision.verdict, .rule = std::string(decision.rule)};
}

/// The violations in the details of a refusal of the arguments.
std::string violations_in(const Error& refusal) {
    const auto details = json::Value::parse(refusal.details);
    const json::Value* const errors = details ? details->find("errors") : nullptr;
    return errors != nullptr ? errors->dump() : std::string();
}

/// Whether the arguments are good for the tool, and what the caller may have with it. Errors: as in
/// the call.
Result<void> check_arguments(CallInProgress& progress, CheckedCall& checked) {
    auto valid = ValidateStage::check(*checked.tool, progress);
    checked.valid = valid.has_value() || valid.error().code != ErrorCode::kInvalidArgs;
    if (!checked.valid) checked.violations = violations_in(valid.error());
    if (!valid) return valid;
    return progress.bind_policy();
}

}  // namespace

Task<CheckedCall> CallCheck::check(AuthenticatedCall authenticated) {
    TaskChain& chain = co_await this_chain();
    CallInProgress progress(authenticated, loop_, WhileRunning::kJoin, chain);
    CheckedCall checked;
    if (auto settled = AuthorizeStage::settle(progress); !settled) {
        checked.refusal = std::move(settled.error());
        co_return checked;
    }
    auto authorized = authorize_.pass(authenticated, progress);
    checked.tool = progress.facts.tool;
    if (!authorized) checked.refusal = std::move(authorized.error());
    if (!checked.tool) co_return checked;
    // Arguments that cannot be read are not decided about.
    const bool decided = authorized || checked.refusal->code == ErrorCode::kForbidden;
    if (decided) checked.decision = copy_of(progress.facts.decision);
    auto good = check_arguments(progress, checked);
    if (!authorized) co_return checked;  // what its arguments are like does not matter any more
    checked.decision = copy_of(progress.facts.decision);  // nulls may have been left out
    for (const auto& hook : progress.rules->hooks)
        if (hook->applies_to(*checked.tool)) checked.hooks.emplace_back(hook->name());
    if (!good) checked.refusal = std::move(good.error());
    checked.needs_approval = !checked.refusal && progress.needs_approval();
    co_return checked;
}

}  // namespace crab::core
