#pragma once

#include "base/clock.hpp"
#include "base/glob.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace crab::mcp {

/// What happens when a result breaks the output schema of its tool (`output:`).
enum class OutputCheck : std::uint8_t { kWarn, kStrict, kOff };

/// What the operator says of one tool; overrules the upstream's claims.
struct ToolRule {
    std::optional<bool> side_effects, idempotent;
    std::optional<Milliseconds> timeout;
    friend bool operator==(const ToolRule&, const ToolRule&) = default;
};

/// What configuration says of the tools of one upstream. Names are the upstream's own.
struct ToolRules {
    std::vector<std::string> allow;  ///< globs; empty: all
    std::vector<std::string> deny;   ///< globs; they win
    std::map<std::string, ToolRule, std::less<>> overrides;
    bool trust_annotations = false;
    bool drop_nulls = true;
    OutputCheck output = OutputCheck::kWarn;
    Milliseconds timeout{60'000};
    Milliseconds max_timeout{600'000};

    bool allows(std::string_view name) const {
        const auto fits = [&](const std::string& glob) { return Glob(glob).matches(name); };
        return (allow.empty() || std::ranges::any_of(allow, fits)) &&
               std::ranges::none_of(deny, fits);
    }
    friend bool operator==(const ToolRules&, const ToolRules&) = default;
};

}  // namespace crab::mcp
