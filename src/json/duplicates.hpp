#pragma once

#include "json/element.hpp"

#include <optional>
#include <string>

namespace crab::json {

/// The JSON pointer of a duplicate member at any depth of `value`; nothing when all names are
/// unique. Parsers disagree on which duplicate counts, so a checked value may differ from the one
/// that is used. Allocates only if it finds one.
std::optional<std::string> find_duplicate(Element value);

/// Whether there is one, without saying where. Of a text that was just parsed,
/// Root::repeats_names() knows.
bool has_duplicate(Element value);

}  // namespace crab::json
