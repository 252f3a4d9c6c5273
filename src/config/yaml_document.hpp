#pragma once

#include "config/problems.hpp"
#include "json/value.hpp"

#include <map>
#include <string>
#include <string_view>

namespace crab::config {

/// Limits of one file.
struct YamlLimits {
    std::size_t max_bytes = std::size_t{1} << 20;
    std::size_t max_depth = 32;
    std::size_t max_values = 100'000;  ///< including those repeated by aliases
};

/// One YAML document as JSON, with the line of each value.
struct YamlDocument {
    json::Value value;
    std::map<std::string, int, std::less<>> lines;  ///< RFC 6901 pointer to line, from 1

    /// The line of that value, else of its nearest parent; 0 in an empty document.
    int line_of(std::string_view pointer) const;
};

/// Whole and rational numbers, booleans and null as the core schema of YAML 1.2 (section 10.3.2)
/// resolves plain scalars; everything else is a string. Nothing for `.inf` and `.nan`, which JSON
/// cannot represent.
std::optional<json::Value> resolve_core_scalar(std::string_view text);

/// Reads the one document of `text`; an empty one is an empty object. Keys are strings and must be
/// unique. Errors are added to `problems`; the document then holds what could be read.
YamlDocument read_yaml(std::string_view text, Problems& problems, const YamlLimits& limits = {});

}  // namespace crab::config
