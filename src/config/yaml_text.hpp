#pragma once

#include "json/value.hpp"

#include <string>

namespace crab::config {

/// A value as one YAML document in block style, with a line end. Strings that a reader could take
/// for something else (`yes`, `1e3`, `~`), or that hold control characters, are quoted.
std::string to_yaml(const json::Value& value);

}  // namespace crab::config
