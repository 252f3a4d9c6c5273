#pragma once

#include "base/clock.hpp"
#include "core/call/content_digest.hpp"
#include "core/call/effective_policy.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::core {

/// What a decision about a call is about: who, what, where, with which arguments, and how far its
/// execution policy goes. Source: docs/protocols/sw4rm.md, section 9.
struct ApprovalSubject {
    std::string tenant, principal;
    std::string tool, source;            ///< the tool's unique name and where it comes from
    std::string place;  ///< where it would run, as its host says: a worktree; may be empty
    std::string rule;  ///< of the policy that asks; empty when only the labels ask
    std::string session;  ///< of the caller; may be empty
    Network network = Network::kDenyAll;
    Privilege privilege = Privilege::kMinimal;
    ContentDigest content{};  ///< of the call (core/call/content_digest.hpp)

    /// The same but for session, labels and arguments.
    bool same_matter(const ApprovalSubject& other) const {
        return principal == other.principal && tool == other.tool && tenant == other.tenant &&
               source == other.source && place == other.place && rule == other.rule;
    }
    /// `other` asks for nothing beyond what this one does.
    bool permits(const ApprovalSubject& other) const {
        return other.network <= network && other.privilege <= privilege;
    }
    /// The very same call, or a tighter one.
    bool covers(const ApprovalSubject& other) const {
        return same_matter(other) && content == other.content && session == other.session &&
               permits(other);
    }
    friend bool operator==(const ApprovalSubject&, const ApprovalSubject&) = default;
};

/// One question to whoever may decide. Immutable.
struct ApprovalQuestion {
    std::string id;  ///< 12 hexadecimal digits
    ApprovalSubject subject;
    std::string call_id, trace_id, agent, front, credential;
    std::string args;  ///< the JSON text as whoever decides sees it, its end cut off when long
    std::string description;  ///< of the tool, as its author says
    SystemTime asked_at;
    SystemTime until;  ///< nobody waits longer
};

/// How far a decision goes. kOnce: this call. kSession: such calls of this session, until it is
/// deleted or the gateway stops. kAlways: such calls of this principal, durably, until it is
/// withdrawn. Such calls: same_matter(), and no looser labels.
enum class ApprovalScope : std::uint8_t { kOnce, kSession, kAlways };
/// What became of a question. kUnattended: nobody was there to be asked; kCrowded: too many calls
/// wait already; kWithdrawn: the caller's credential was revoked; kStopped: the gateway stopped.
enum class ApprovalState : std::uint8_t {
    kPending,
    kAllowed,
    kDenied,
    kExpired,
    kCancelled,
    kUnattended,
    kCrowded,
    kWithdrawn,
    kStopped
};

std::string_view name_of(ApprovalScope scope);  ///< `once`, `session`, `always`
std::string_view name_of(ApprovalState state);  ///< `pending`, `allowed`, …
std::optional<ApprovalScope> find_approval_scope(std::string_view name);

/// Somebody's word.
struct ApprovalDecision {
    bool allow = false;
    ApprovalScope scope = ApprovalScope::kOnce;
    std::string by;  ///< principal id
};

/// How a question ended.
struct ApprovalEnd {
    std::string id;  ///< of the question; of the remembered decision when `remembered`
    ApprovalState state = ApprovalState::kPending;
    ApprovalScope scope = ApprovalScope::kOnce;  ///< of a decision
    std::string by;  ///< who decided; empty when nobody did
    bool remembered = false;  ///< a decision made before; nobody was asked
    std::chrono::nanoseconds waited{0};

    bool allowed() const { return state == ApprovalState::kAllowed; }
};

/// A decision that holds for calls to come.
struct RememberedApproval {
    std::string id;
    bool allow = false;
    /// kOnce: a question that was over was allowed; one use
    ApprovalScope scope = ApprovalScope::kSession;
    ApprovalSubject subject;  ///< `session` counts for kSession, `content` for kOnce only
    std::string by;
    SystemTime at;
    std::optional<SystemTime> until;

    /// An allowance covers what goes no further, a denial what goes as far.
    bool covers(const ApprovalSubject& asked) const;
};

/// Somebody at the caller's end of a call who can be asked about it, such as the person in a chat.
/// Used on the call's event loop.
class Approver {
public:
    virtual ~Approver() = default;
    /// Whether there is anybody now, and he may decide.
    virtual bool can_be_asked() const = 0;
    virtual void on_question(const ApprovalQuestion& question) = 0;
    /// It is decided, by whomever, or over.
    virtual void on_end(const ApprovalQuestion& question, const ApprovalEnd& end) = 0;
};

}  // namespace crab::core
