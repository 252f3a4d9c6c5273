#pragma once

#include "base/clock.hpp"
#include "core/call/content_digest.hpp"
#include "core/call/effective_policy.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::core {

/// The subject of an approval: who calls which tool, where, with which arguments and which
/// execution policy. Source: docs/protocols/sw4rm.md, section 9.
struct ApprovalSubject {
    std::string tenant, principal;
    std::string tool, source;            ///< the tool's unique name and where it comes from
    std::string place;  ///< where its host would run it: a worktree; may be empty
    std::string rule;  ///< the policy rule that requires it; empty when only the labels do
    std::string session;  ///< of the caller; may be empty
    Network network = Network::kDenyAll;
    Privilege privilege = Privilege::kMinimal;
    ContentDigest content{};  ///< of the call (core/call/content_digest.hpp)

    /// Equal except for session, labels and arguments.
    bool same_matter(const ApprovalSubject& other) const {
        return principal == other.principal && tool == other.tool && tenant == other.tenant &&
               source == other.source && place == other.place && rule == other.rule;
    }
    /// Whether the labels of `other` are no looser than these.
    bool permits(const ApprovalSubject& other) const {
        return other.network <= network && other.privilege <= privilege;
    }
    /// The same call, with the same or tighter labels.
    bool covers(const ApprovalSubject& other) const {
        return same_matter(other) && content == other.content && session == other.session &&
               permits(other);
    }
    friend bool operator==(const ApprovalSubject&, const ApprovalSubject&) = default;
};

/// One approval request. Immutable.
struct ApprovalQuestion {
    std::string id;  ///< 12 hexadecimal digits
    ApprovalSubject subject;
    std::string call_id, trace_id, agent, front, credential;
    std::string args;  ///< JSON text for display, truncated if long
    std::string description;  ///< of the tool, by its author
    SystemTime asked_at;
    SystemTime until;  ///< when the call stops waiting
};

/// The scope of a decision. kOnce: this call. kSession: matching calls of this session, until it is
/// deleted or the gateway stops. kAlways: matching calls of this principal, durably, until
/// withdrawn. A call matches with same_matter() and no looser labels.
enum class ApprovalScope : std::uint8_t { kOnce, kSession, kAlways };
/// The state of an approval request. kUnattended: there was nobody to ask; kTooMany: too many calls
/// are waiting; kWithdrawn: the caller's credential was revoked; kStopped: the gateway stopped.
enum class ApprovalState : std::uint8_t {
    kPending,
    kAllowed,
    kDenied,
    kExpired,
    kCancelled,
    kUnattended,
    kTooMany,
    kWithdrawn,
    kStopped
};

std::string_view name_of(ApprovalScope scope);  ///< `once`, `session`, `always`
std::string_view name_of(ApprovalState state);  ///< `pending`, `allowed`, …
std::optional<ApprovalScope> find_approval_scope(std::string_view name);

/// A decision.
struct ApprovalDecision {
    bool allow = false;
    ApprovalScope scope = ApprovalScope::kOnce;
    std::string by;  ///< principal id
};

/// How an approval request ended.
struct ApprovalEnd {
    std::string id;  ///< of the request; of the stored decision if `remembered`
    ApprovalState state = ApprovalState::kPending;
    ApprovalScope scope = ApprovalScope::kOnce;  ///< of a decision
    std::string by;  ///< the decider; may be empty
    bool remembered = false;  ///< an earlier decision applied; nobody was asked
    std::chrono::nanoseconds waited{0};

    bool allowed() const { return state == ApprovalState::kAllowed; }
};

/// A stored decision for future calls.
struct RememberedApproval {
    std::string id;
    bool allow = false;
    /// kOnce: an expired request was allowed; one use
    ApprovalScope scope = ApprovalScope::kSession;
    ApprovalSubject subject;  ///< `session` matters for kSession, `content` for kOnce only
    std::string by;
    SystemTime at;
    std::optional<SystemTime> until;

    /// Whether it applies: an allowance to the same or tighter labels, a denial to the same or
    /// looser ones.
    bool covers(const ApprovalSubject& asked) const;
};

/// The caller's side of an approval, where a person may be who can give it, such as the user of a
/// chat. Used on the call's event loop.
class Approver {
public:
    virtual ~Approver() = default;
    /// Somebody is asked, here or elsewhere, and the call waits for that.
    virtual void on_wait(const ApprovalQuestion&) {}
    /// Whether someone is present and may decide.
    virtual bool can_be_asked() const = 0;
    virtual void on_question(const ApprovalQuestion& question) = 0;
    /// The request was decided, by anyone, or has ended.
    virtual void on_end(const ApprovalQuestion& question, const ApprovalEnd& end) = 0;
};

}  // namespace crab::core
