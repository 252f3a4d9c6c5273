#pragma once

#include "adapters/clawseed/wire.hpp"
#include "core/policy.hpp"
#include "core/registry.hpp"
#include "json/element.hpp"

#include <functional>
#include <string>
#include <vector>

namespace crab::clawseed {

struct RegistrationLimits {
    std::size_t tools = 256;               ///< distinct names of one connection
    std::size_t name_bytes = 128;
    std::size_t description_bytes = 8 * 1024;
    std::size_t parameters_bytes = 64 * 1024;
    std::size_t parameters_depth = 32;
    Milliseconds default_timeout{30'000};  ///< of a tool that claims none
    Milliseconds max_timeout{120'000};     ///< no claim goes beyond it
};

/// What the operator says about tools whose name fits, over their own claims.
struct ToolOverride {
    Glob match;
    std::optional<Milliseconds> timeout, max_timeout;
    std::optional<std::uint32_t> max_concurrency;
    std::optional<std::size_t> queue;
    std::optional<bool> trust_annotations, idempotent, side_effects;
};

/// A list as received, element by element: taken or rejected. Source: docs/protocols/clawseed.md, section 3.
struct Registration {
    std::size_t count = 0;                              ///< the array's length
    std::vector<std::shared_ptr<core::Tool>> taken;     ///< of equal names the last; source and host still unset
    std::vector<Rejected> rejected;                     ///< the first 256
};

struct RegistrationContext {
    const core::Registry& registry;
    const core::Policy& policy;
    const core::Principal& principal;
    const RegistrationLimits& limits;
    std::span<const ToolOverride> overrides;
    std::function<bool(std::string_view name)> already_held;   ///< names that the connection holds do not count as new
    std::size_t held = 0;                                      ///< how many it holds
};

Registration read_registration(json::Array tools, const RegistrationContext& context);

}  // namespace crab::clawseed
