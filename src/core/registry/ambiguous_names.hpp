#pragma once

#include "core/registry/registry.hpp"

#include <span>
#include <string>
#include <vector>

namespace crab::core {

/// A plain name that means more than one tool, so that callers of it have to say which.
struct AmbiguousName {
    std::string name;
    std::string error;   ///< what such a caller reads, choices included
};

/// Those of the plain names of `tools` that are ambiguous for somebody who may call everything. For
/// the operator's log: whoever registers or chains a tool may so take a name from callers that knew
/// it.
std::vector<AmbiguousName> ambiguous_names(const RegistrySnapshot& registry,
                                           std::span<const ToolRef> tools);
/// Logs each of them that `told` does not hold, and keeps it there. `by` is whose registration it
/// was.
void log_ambiguous_names(const RegistrySnapshot& registry, std::span<const ToolRef> tools,
                         std::string_view by, std::vector<std::string>& told);

}  // namespace crab::core
