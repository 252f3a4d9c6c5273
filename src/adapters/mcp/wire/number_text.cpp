#include "adapters/mcp/wire/number_text.hpp"

#include "json/scan.hpp"

#include <charconv>
#include <cstdint>

namespace crab::mcp {
namespace {

/// from_chars alone would take `042` and `1.`.
bool is_json_number(std::string_view text) {
    json::Scan scan(text);
    const auto digits = [&] { return scan.take_while(json::is_ascii_digit); };
    scan.skip('-');
    const std::string_view whole = digits();
    if (whole.empty() || (whole.size() > 1 && whole[0] == '0')) return false;
    if (scan.skip('.') && digits().empty()) return false;
    if (scan.skip_any("eE")) {
        scan.skip_any("+-");
        if (digits().empty()) return false;
    }
    return scan.done();
}

}  // namespace

std::optional<json::Number> read_number(std::string_view text) {
    if (!is_json_number(text)) return std::nullopt;
    const char* const end = text.data() + text.size();
    std::int64_t whole = 0;
    if (const auto read = std::from_chars(text.data(), end, whole);
        read.ec == std::errc{} && read.ptr == end)
        return whole;
    double real = 0;
    if (std::from_chars(text.data(), end, real).ec != std::errc{}) return std::nullopt;
    return real;
}

}  // namespace crab::mcp
