#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::json {

/// A value inside a parsed text; a cheap copyable view that lives as long as the parse result it
/// came from.
using Element = simdjson::dom::element;
using Object = simdjson::dom::object;
using Array = simdjson::dom::array;

/// The member `key` of `object`; of several with that name the first. Nothing when absent or when
/// `object` is not an object.
std::optional<Element> get(Element object, std::string_view key);
/// The member `key` if it has the requested type, otherwise nothing. The text is a view into the
/// parse result.
std::optional<std::string_view> get_string(Element object, std::string_view key);
std::optional<bool> get_bool(Element object, std::string_view key);
/// A whole number that fits, written as `3` or as `3.0`.
std::optional<std::int64_t> get_int64(Element object, std::string_view key);
/// Any number; integers beyond 2^53 are rounded.
std::optional<double> get_double(Element object, std::string_view key);
std::optional<Object> get_object(Element object, std::string_view key);
std::optional<Array> get_array(Element object, std::string_view key);

/// Whether two members of this object (not of nested ones) have the same name. False for anything
/// but an object.
bool has_duplicate_members(Element object);

/// The value as compact JSON (RFC 8259); doubles round-trip and stay doubles.
std::string to_text(Element element);
/// Appends what to_text() returns.
void append_text(std::string& out, Element element);

}  // namespace crab::json
