#pragma once

#include "json/schema/schema.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace crab::core {

/// `args`, a JSON object, without the members whose value is a null that `schema` refuses, as
/// `violations` say; the rest in the bytes that came. Models and generated clients send null where
/// they mean to leave out. Nothing when that leaves no valid object: what is required stays.
std::optional<std::string> drop_refused_nulls(std::string_view args, const json::Schema& schema,
                                              std::span<const json::SchemaViolation> violations);

}  // namespace crab::core
