#pragma once

#include "json/value.hpp"

#include <string>

namespace crab::cli {

/// JSON with two spaces per level; empty arrays and objects stay on their line.
std::string pretty(const json::Value& value);
/// Prints to standard output: pretty on a terminal, compact in a pipe; with a line end.
void print_json(const json::Value& value);

/// A member as text: a string unquoted, any other value as JSON, an absent one as "".
std::string text_of(const json::Value& object, std::string_view key);
std::int64_t number_of(const json::Value& object, std::string_view key);
bool flag_of(const json::Value& object, std::string_view key);
/// The items of the list `key`; none when it is absent.
const json::Value::Items& items_of(const json::Value& object, std::string_view key);

}  // namespace crab::cli
