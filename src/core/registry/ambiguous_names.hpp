#pragma once

#include "core/registry/registry.hpp"

#include <span>
#include <string>
#include <vector>

namespace crab::core {

/// A plain name that several tools share, so that callers must qualify it.
struct AmbiguousName {
    std::string name;
    std::string error;   ///< the error for callers, with the choices
};

/// The plain names of `tools` that are ambiguous to a caller with all rights. For the log: a
/// registration may thereby break callers of the plain name.
std::vector<AmbiguousName> ambiguous_names(const RegistrySnapshot& registry,
                                           std::span<const ToolRef> tools);
/// Logs each of them that is not in `told`, and adds it. `by` names the registering source.
void log_ambiguous_names(const RegistrySnapshot& registry, std::span<const ToolRef> tools,
                         std::string_view by, std::vector<std::string>& told);

}  // namespace crab::core
