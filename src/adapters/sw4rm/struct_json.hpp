#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace crab::sw4rm {

/// A serialized google.protobuf.Struct as a JSON object; nothing when it is malformed, deeper than
/// 64, or holds a number that JSON cannot represent.
std::optional<std::string> struct_to_json(std::string_view bytes);

}  // namespace crab::sw4rm
