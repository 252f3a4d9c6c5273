#include "core/policy/policy_trace.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::core {
namespace {

PolicyStep::Effect effect_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::kAllow: return PolicyStep::Effect::kAllow;
        case Verdict::kDeny: return PolicyStep::Effect::kDeny;
        case Verdict::kNeedsApproval: return PolicyStep::Effect::kNeedsApproval;
    }
    return PolicyStep::Effect::kDeny;
}

/// Why it wins over other rules that match as well.
std::string_view rank_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::kAllow: return "";
        case Verdict::kDeny: return "; a denial wins over all else";
        case Verdict::kNeedsApproval: return "; an approval is needed also for what is allowed";
    }
    return "";
}

}  // namespace

std::string_view name_of(PolicyStep::Effect effect) {
    switch (effect) {
        case PolicyStep::Effect::kAllow: return "allow";
        case PolicyStep::Effect::kDeny: return "deny";
        case PolicyStep::Effect::kNeedsApproval: return "needs_approval";
        case PolicyStep::Effect::kConfine: return "confine";
    }
    return "";
}

void PolicyTrace::add_role(const Decision& decision, const Principal& principal) {
    add({.rule = std::string(decision.rule),
         .line = 0,
         .effect = effect_of(decision.verdict),
         .matched = true,
         .because = fmt::format("{} has the roles {}", principal.id, principal.roles.to_text())});
}

void PolicyTrace::conclude(const Decision& decision) {
    const auto decided = std::ranges::find_if(
        steps_, [&](const PolicyStep& step) { return step.matched && step.rule == decision.rule; });
    if (decided == steps_.end()) return;
    if (std::ranges::count_if(steps_, &PolicyStep::matched) > 1)
        decided->because += rank_of(decision.verdict);
    decided->effect = effect_of(decision.verdict);
    std::rotate(decided, decided + 1, steps_.end());
}

}  // namespace crab::core
