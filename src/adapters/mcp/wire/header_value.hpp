#pragma once

#include "json/element.hpp"

#include <optional>
#include <string>
#include <string_view>

/// Values of the headers that mirror a modern request. Source: docs/protocols/mcp.md, section 2.3,
/// "Header values".
namespace crab::mcp {

/// Printable ASCII and tabs, without white space at the ends, that does not look encoded itself.
bool is_plain_header(std::string_view text);
/// The header value that stands for `text`, which is UTF-8: itself if it is plain, else
/// `=?base64?…?=`.
std::string encode_header_value(std::string_view text);

/// What a header value stands for. White space around it is no part of it; with one of the two
/// markers missing it is literal. Nothing for bytes that no plain value has, bad base64, and base64
/// of what is not UTF-8.
std::optional<std::string> decode_header_value(std::string_view value);

/// Whether a decoded value says the same as a value of the body: strings by bytes, numbers by their
/// value (`42.0` is 42), booleans as `true` and `false`. False for null, arrays and objects.
bool header_equals(std::string_view decoded, json::Element value);

/// The text of a string, number or boolean, to be encoded; whole numbers as integers. Nothing for
/// null, arrays and objects, which no header can say.
std::optional<std::string> header_text(json::Element value);

}  // namespace crab::mcp
