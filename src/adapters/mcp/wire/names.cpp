#include "adapters/mcp/wire/names.hpp"

#include "crypto/digest.hpp"
#include "json/unicode.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace crab::mcp {
namespace {

constexpr std::size_t kHashDigits = 8;
constexpr std::size_t kSuffix = 1 + kHashDigits;

bool is_digit_or_lower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool may_stand(char c) {
    return is_digit_or_lower(c) || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '-';
}

std::string with_digest(std::string_view shown, std::size_t max, std::string_view full) {
    return fmt::format("{}_{}", shown.substr(0, max - kSuffix),
                       crypto::sha256_hex(full).substr(0, kHashDigits));
}

/// Characters, not bytes, become `_`.
std::string replaced(std::string_view name) {
    std::string out;
    while (!name.empty()) {
        out += may_stand(name[0]) ? name[0] : '_';
        name.remove_prefix(json::decode_utf8(name).bytes);
    }
    return out;
}

}  // namespace

std::string tool_name(std::string_view upstream_name) {
    if (!upstream_name.empty() && upstream_name.size() <= kMaxToolName &&
        std::ranges::all_of(upstream_name, may_stand))
        return std::string(upstream_name);
    return altered_name(upstream_name);
}

std::string altered_name(std::string_view upstream_name) {
    return with_digest(replaced(upstream_name), kMaxToolName, upstream_name);
}

std::string qualified_name(std::string_view source, std::string_view name) {
    return fmt::format("{}__{}", source, name);
}

std::string listed_name(std::string_view name, const NameOptions& options) {
    std::string shown =
        name.size() <= options.max ? std::string(name) : with_digest(name, options.max, name);
    if (options.dots == Dots::kUnderscore) std::ranges::replace(shown, '.', '_');
    return shown;
}

}  // namespace crab::mcp
