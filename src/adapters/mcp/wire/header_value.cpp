#include "adapters/mcp/wire/header_value.hpp"

#include "adapters/mcp/wire/number_text.hpp"
#include "base/encoding.hpp"
#include "json/number.hpp"
#include "net/codec/http_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <simdjson.h>

namespace crab::mcp {
namespace {

constexpr std::string_view kOpening = "=?base64?";
constexpr std::string_view kClosing = "?=";

bool looks_encoded(std::string_view text) {
    return text.size() >= kOpening.size() + kClosing.size() && text.starts_with(kOpening) &&
           text.ends_with(kClosing);
}

bool is_plain_byte(char c) { return c == '\t' || (c >= 0x20 && c <= 0x7E); }

std::optional<json::Number> number_of(json::Element value) {
    std::int64_t small = 0;
    std::uint64_t large = 0;
    double real = 0;
    if (value.get(small) == simdjson::SUCCESS) return small;
    if (value.get(large) == simdjson::SUCCESS) return large;
    if (value.get(real) == simdjson::SUCCESS) return real;
    return std::nullopt;
}

}  // namespace

bool is_plain_header(std::string_view text) {
    return std::ranges::all_of(text, is_plain_byte) && trim(text).size() == text.size() &&
           !looks_encoded(text);
}

std::string encode_header_value(std::string_view text) {
    if (is_plain_header(text)) return std::string(text);
    std::string value(kOpening);
    value += to_base64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    value += kClosing;
    return value;
}

std::optional<std::string> decode_header_value(std::string_view value) {
    value = trim(value);
    if (!std::ranges::all_of(value, is_plain_byte)) return std::nullopt;
    if (!looks_encoded(value)) return std::string(value);
    value.remove_prefix(kOpening.size());
    value.remove_suffix(kClosing.size());
    auto text = from_base64(value);
    if (!text || !simdjson::validate_utf8(*text)) return std::nullopt;
    return text;
}

bool header_equals(std::string_view decoded, json::Element value) {
    std::string_view text;
    bool truth = false;
    if (value.get(text) == simdjson::SUCCESS) return decoded == text;
    if (value.get(truth) == simdjson::SUCCESS) return decoded == (truth ? "true" : "false");
    const auto number = number_of(value);
    const auto said = number ? read_number(decoded) : std::nullopt;
    return said && json::compare(*said, *number) == 0;
}

std::optional<std::string> header_text(json::Element value) {
    std::string_view text;
    if (value.get(text) == simdjson::SUCCESS) return std::string(text);
    if (value.is_null() || value.is_array() || value.is_object()) return std::nullopt;
    constexpr double kLargestExact = 9'007'199'254'740'992.0;  // 2^53
    double real = 0;
    if (value.type() == simdjson::dom::element_type::DOUBLE &&
        value.get(real) == simdjson::SUCCESS && json::is_whole(real) &&
        std::abs(real) <= kLargestExact)
        return std::to_string(static_cast<std::int64_t>(real));
    return json::to_text(value);
}

}  // namespace crab::mcp
