#pragma once

#include "json/element.hpp"

#include <optional>
#include <string>

namespace crab::json {

/// The JSON pointer of a member whose object, at any depth of `value`, has another one of the same
/// name; nothing when all names are unique. Programs disagree on which of the two counts, so what
/// one has judged may not be what another one uses. Allocates only if it finds one.
std::optional<std::string> find_duplicate(Element value);

}  // namespace crab::json
