#include "adapters/cetp/names.hpp"

#include "crypto/digest.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::cetp {
namespace {

constexpr std::size_t kKeptOfLongName = 55;
constexpr std::size_t kHashDigits = 8;

bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// Characters, not bytes, that `keep` does not accept become `_`.
template <class F>
std::string replaced(std::string_view text, F keep) {
    std::string out;
    for (const char c : text) {
        if (!continues_character(c)) out += keep(c) ? c : '_';
    }
    return out;
}

}  // namespace

std::string label_of(std::string_view id) {
    const std::size_t dot = id.rfind('.');
    std::string label = replaced(dot == id.npos ? id : id.substr(dot + 1), is_alphanumeric);
    if (std::ranges::none_of(label, is_alphanumeric)) return "provider";
    std::ranges::transform(label, label.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return label;
}

std::string plain_name(std::string_view label, std::string_view tool) {
    return fmt::format("{}__{}", label, replaced(tool, [](char c) {
                           return is_alphanumeric(c) || c == '_' || c == '-';
                       }));
}

std::string hashed_name(std::string_view plain, std::string_view provider_id,
                        std::string_view tool) {
    const std::string digest = crypto::sha256_hex(fmt::format("{}\n{}", provider_id, tool));
    return fmt::format("{}_{}", plain.substr(0, kKeptOfLongName), digest.substr(0, kHashDigits));
}

}  // namespace crab::cetp
