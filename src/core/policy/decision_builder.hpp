#pragma once

#include "core/policy/policy.hpp"

#include <cstdint>
#include <string_view>

namespace crab::core {

/// Combines role defaults and rules, in any order, to one decision; the only place that does. Deny
/// wins. A right of the role holds unless an allow list restricts it; a rule grants further rights
/// only where rules may widen the role.
class DecisionBuilder {
public:
    enum class Rules : std::uint8_t { kNarrow, kWiden };
    /// `role` is the default of the principal's roles.
    DecisionBuilder(Decision role, Rules rules) : role_(role), rules_(rules) {}

    void deny(std::string_view rule) { keep(denied_, rule); }
    void allow(std::string_view rule) { keep(allowed_, rule); }
    void ask_for_approval(std::string_view rule) { keep(approval_, rule); }
    /// An allow list names this principal: what no list allows is denied. `rule` describes the list
    /// and must outlive the decision.
    void confine(std::string_view rule) { keep(confined_, rule); }
    bool is_denied() const { return !denied_.empty(); }

    Decision decision() const {
        const bool widened = rules_ == Rules::kWiden && !allowed_.empty();
        if (!denied_.empty()) return {Verdict::kDeny, denied_};
        if (role_.verdict == Verdict::kDeny && !widened) return role_;
        if (!confined_.empty() && allowed_.empty()) return {Verdict::kDeny, confined_};
        if (!approval_.empty()) return {Verdict::kNeedsApproval, approval_};
        return {Verdict::kAllow, allowed_.empty() ? role_.rule : allowed_};
    }

private:
    static void keep(std::string_view& first, std::string_view rule) {
        if (first.empty()) first = rule;
    }

    Decision role_;
    Rules rules_;
    std::string_view denied_, allowed_, approval_, confined_;
};

}  // namespace crab::core
