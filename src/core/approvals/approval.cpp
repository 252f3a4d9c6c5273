#include "core/approvals/approval.hpp"

namespace crab::core {

std::string_view name_of(ApprovalScope scope) {
    switch (scope) {
        case ApprovalScope::kOnce: return "once";
        case ApprovalScope::kSession: return "session";
        case ApprovalScope::kAlways: return "always";
    }
    return "";
}

std::string_view name_of(ApprovalState state) {
    switch (state) {
        case ApprovalState::kPending: return "pending";
        case ApprovalState::kAllowed: return "allowed";
        case ApprovalState::kDenied: return "denied";
        case ApprovalState::kExpired: return "expired";
        case ApprovalState::kCancelled: return "cancelled";
        case ApprovalState::kUnattended: return "unattended";
        case ApprovalState::kTooMany: return "crowded";
        case ApprovalState::kWithdrawn: return "withdrawn";
        case ApprovalState::kStopped: return "stopped";
    }
    return "";
}

std::optional<ApprovalScope> find_approval_scope(std::string_view name) {
    for (const ApprovalScope scope :
         {ApprovalScope::kOnce, ApprovalScope::kSession, ApprovalScope::kAlways}) {
        if (name_of(scope) == name) return scope;
    }
    return std::nullopt;
}

bool RememberedApproval::covers(const ApprovalSubject& asked) const {
    if (!subject.same_matter(asked) || !(allow ? subject.permits(asked) : asked.permits(subject)))
        return false;
    switch (scope) {
        case ApprovalScope::kOnce:  // exactly that call: tighter labels are another one
            return subject.content == asked.content && subject.session == asked.session &&
                   subject.network == asked.network && subject.privilege == asked.privilege;
        case ApprovalScope::kSession: return subject.session == asked.session;
        case ApprovalScope::kAlways: return true;
    }
    return false;
}

}  // namespace crab::core
