#pragma once

#include "core/policy/policy.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::core {

/// What one rule says of a call: the default of the roles, or one list of one entry of the policy.
struct PolicyStep {
    /// What the rule does where it matches. An allow list that names other tools confines: the call
    /// is denied unless another list allows it.
    enum class Effect : std::uint8_t { kAllow, kDeny, kNeedsApproval, kConfine };

    std::string rule;  ///< as Decision::rule where it matches; else without the pattern
    int line = 0;  ///< of its entry in the configuration file, from 1; 0: not known
    Effect effect = Effect::kDeny;
    bool matched = false;
    std::string because;  ///< a sentence for people
};
std::string_view name_of(PolicyStep::Effect effect);

/// Hears from Policy::decide_call() what each rule says. A decision that is traced looks at all
/// rules, also at those after a denial. For one decision, on one thread.
class PolicyTrace {
public:
    /// The first step: what the roles of the principal say.
    void add_role(const Decision& decision, const Principal& principal);
    void add(PolicyStep step) { steps_.push_back(std::move(step)); }
    /// Puts the step of the rule that decided at the end, with the decision as its effect.
    void conclude(const Decision& decision);
    /// In the order of the rules, but for the last, which decided.
    const std::vector<PolicyStep>& steps() const { return steps_; }

private:
    std::vector<PolicyStep> steps_;
};

}  // namespace crab::core
