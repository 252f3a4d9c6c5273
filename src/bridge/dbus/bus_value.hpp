#pragma once

#include "base/result.hpp"
#include "json/value.hpp"

#include <string_view>

struct sd_bus_message;

namespace crab::bridge {

/// The values of a message, in their order, as JSON: variants are what they hold, dictionaries with
/// text as keys are objects, bytes that are UTF-8 are text (without the zero that ends paths),
/// structures are arrays, descriptors are null. Errors: kInvalidArgs for a damaged message.
Result<json::Value> read_values(sd_bus_message* message);

/// Adds values to a message, one for each complete type of `signature`: y b i u x t d s o g,
/// arrays, dictionaries with text as keys, and variants, which take booleans, whole numbers (`x`)
/// and text. False when a value does not fit its type.
bool append_values(sd_bus_message* message, std::string_view signature,
                   const json::Value::Items& values);

}  // namespace crab::bridge
