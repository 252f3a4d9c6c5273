#pragma once

#include "json/element.hpp"
#include "json/schema/schema_program.hpp"

#include <string>

// Texts of violations: short, with the relevant values, bounded in length.
namespace crab::json {

/// `text` cut to at most `limit` bytes, at a code point, with `…` behind it when cut.
std::string shortened(std::string text, std::size_t limit = 80);
/// The value as JSON, shortened.
std::string shown(Element value);
std::string shown(const Value& value);
std::string shown(const Number& number);
std::string quoted_name(std::string_view name);
/// `a string`, `an integer or null`.
std::string name_types(std::uint8_t types);
/// `a string`, `the number 1.5`, `an array`: what the instance is instead.
std::string name_type_of(Element value);
/// `"a", "b", "c"` and how many more.
std::string list_values(const ValueRules& rules);
std::string list_names(const ObjectRules& rules);

}  // namespace crab::json
