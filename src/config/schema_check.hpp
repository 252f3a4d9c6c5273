#pragma once

#include "config/problems.hpp"
#include "config/yaml_document.hpp"

#include <set>

namespace crab::config {

/// Adds a problem for every member that `schema` (closed with `additionalProperties: false`) does
/// not name, with the name that was probably meant, and for every value of another type than `type`
/// says or outside its `enum`. Strings whose pointer is in `references` are converted to the type
/// in the schema if possible. Knows `type`, `enum`, `properties`, `additionalProperties`, `items`,
/// `required`: enough for good messages, but not a full validator.
void check_keys_and_types(const json::Value& schema, YamlDocument& document,
                          const std::set<std::string, std::less<>>& references, Problems& problems);

/// Adds a problem for every other schema violation, at pointers without one.
void check_schema(const json::Value& schema, const YamlDocument& document, Problems& problems);

}  // namespace crab::config
