#pragma once

#include "base/glob.hpp"
#include "core/call/principal.hpp"

#include <span>
#include <string>
#include <string_view>

namespace crab::core {

// What is decided other than calls and registrations: `events.publish:<type>`,
// `events.subscribe:<type>`, `control.config:<what>`, `control.sessions:<what>`,
// `control.peers:<what>`, `control.subscriptions:<what>`. A pattern (`*`, `?`) behind the colon
// stands for all that it matches. Pairing and renewing are no actions, so that no policy can grant
// them. Source: docs/protocols/rtp.md, section 8.

/// Whether `text` is an action, or a pattern of actions of one family.
bool is_action(std::string_view text);
/// Whether there is an action that `glob` matches; a policy's pattern that names none is a mistake.
bool names_actions(const Glob& glob);

/// What a role may do unless a policy says otherwise.
struct DefaultAction {
    Glob glob;
    std::string rule;  ///< the sentence that names it
};
std::span<const DefaultAction> default_actions(Role role);

}  // namespace crab::core
