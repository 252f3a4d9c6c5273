#pragma once

#include "base/clock.hpp"
#include "core/call/principal.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace crab::console {

/// What one browser is to the console, from sign-in to sign-out.
struct ConsoleSession {
    std::uint64_t number = 0;  ///< for logs and audit records; opens nothing
    std::string principal;     ///< whom its requests act for
    core::Roles roles;
    std::string credential{};  ///< id of what it was opened with; empty: a one-time link
    SystemTime expires_at{};   ///< whatever is done in it
    /// When a key was last proven in it; a token never counts
    std::optional<SteadyTime> proven_at{};
    std::string proven_by{};  ///< id of that key
};

inline bool is_operator(const ConsoleSession& session) { return session.roles.are_of_operator(); }

}  // namespace crab::console
