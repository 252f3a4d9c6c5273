#pragma once

#include <string_view>

namespace crab::json {

/// The text of an official metaschema (spec/metaschemas) by its URI without a fragment; empty for
/// any other URI.
std::string_view find_metaschema(std::string_view uri);

}  // namespace crab::json
