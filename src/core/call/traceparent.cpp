#include "core/call/traceparent.hpp"

#include "base/ascii.hpp"

#include <algorithm>

namespace crab::core {
namespace {

bool is_hex(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return hex_value(c) >= 0 && to_lower(c) == c; });
}

bool is_id(std::string_view text, std::size_t digits) {
    return text.size() == digits && is_hex(text) &&
           text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

bool is_trace_id(std::string_view text) { return is_id(text, 32); }

std::optional<TraceParent> parse_traceparent(std::string_view text) {
    constexpr std::size_t kSize = 55;
    if (text.size() != kSize || !text.starts_with("00-") || text[35] != '-' || text[52] != '-')
        return std::nullopt;
    const TraceParent parent{.trace_id = text.substr(3, 32), .span_id = text.substr(36, 16)};
    if (!is_trace_id(parent.trace_id) || !is_id(parent.span_id, 16) || !is_hex(text.substr(53)))
        return std::nullopt;
    return parent;
}

}  // namespace crab::core
