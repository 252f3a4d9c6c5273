#pragma once

#include "config/paths.hpp"
#include "config/yaml_document.hpp"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace crab::config {

/// What was found in a document.
struct References {
    /// Pointers of strings that consisted of one reference: their values may be numbers or booleans
    std::set<std::string, std::less<>> sole;
    std::vector<std::filesystem::path> files;  ///< whose content was taken in
};

/// Replaces the references inside every string of the document (not inside keys): `${NAME}` by the
/// environment variable, `${NAME:-default}` also when it is unset or empty, `${file:path}` by the
/// content of a file of at most 64 KiB without the line end at its end (relative paths start at
/// `folder`), `$${` by `${`. Replacements are not expanded again. Unresolved references are added
/// to `problems`.
References expand_references(YamlDocument& document, const std::filesystem::path& folder,
                             const Environment& environment, Problems& problems);

}  // namespace crab::config
