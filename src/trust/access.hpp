#pragma once

#include "core/policy/policy.hpp"

#include <string>
#include <string_view>

namespace crab::trust {

/// Where an action happens; what is empty is not bound to one.
struct ActionScope {
    std::string_view tenant, agent_id, session_id;
};

/// What was decided about an action, and by which rule; owns its text, because rules are replaced
/// while streams live.
struct ActionDecision {
    core::Verdict verdict = core::Verdict::kDeny;
    std::string rule;

    bool allowed() const { return verdict == core::Verdict::kAllow; }
};

/// Answers "may this principal do this, here, under this lease?" for everything but tool calls.
/// Default deny, deny wins, a lease only narrows. Thread-safe; asked again for every event. Source:
/// docs/protocols/rtp.md, section 8.
class Access {
public:
    virtual ~Access() = default;
    /// `action` is one of section 8, such as `events.publish:cron.triggered`. `lease_id` is empty
    /// when none was named.
    virtual ActionDecision decide(const core::Principal& principal, std::string_view action,
                                  const ActionScope& scope, std::string_view lease_id) const = 0;
    /// Whether this lease is good now and of this principal. A stream that named one asks now and
    /// then, and ends with it.
    virtual bool is_lease_active(const core::Principal& principal,
                                 std::string_view lease_id) const = 0;
    /// A stream that named this lease has begun or ended: a disconnect-bound lease ends with it.
    virtual void stream_began(std::string_view lease_id) = 0;
    virtual void stream_ended(std::string_view lease_id) = 0;
};

}  // namespace crab::trust
