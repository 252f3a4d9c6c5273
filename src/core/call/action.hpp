#pragma once

#include "base/glob.hpp"
#include "core/call/principal.hpp"

#include <span>
#include <string>
#include <string_view>

namespace crab::core {

// Actions that a policy decides on, other than calls and registrations: `events.publish:<type>`,
// `events.subscribe:<type>`, `control.config:<what>`, `control.sessions:<what>`,
// `control.peers:<what>`, `control.subscriptions:<what>`. A pattern (`*`, `?`) after the colon
// stands for all matching actions. Pairing and renewal are not actions, so no policy can grant
// them. Source: docs/protocols/rtp.md, section 8.

/// Whether `text` is an action, or a pattern of actions of one family.
bool is_action(std::string_view text);
/// Whether `glob` matches any action; a policy pattern that matches none is a mistake.
bool names_actions(const Glob& glob);

/// A default right of a role.
struct DefaultAction {
    Glob glob;
    std::string rule;  ///< its description
};
std::span<const DefaultAction> default_actions(Role role);

}  // namespace crab::core
