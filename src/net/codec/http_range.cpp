#include "net/codec/http_range.hpp"

#include "base/ascii.hpp"
#include "base/encoding.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace crab::net {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

}  // namespace

RangeChoice choose_range(std::string_view field, std::uint64_t size) {
    constexpr std::string_view kUnit = "bytes=";
    const RangeChoice whole{.kind = RangeChoice::Kind::kWhole, .first = 0, .length = size};
    if (!field.starts_with(kUnit)) return whole;
    const std::string_view range = trim(field.substr(kUnit.size()));
    const std::size_t dash = range.find('-');
    if (dash == std::string_view::npos || range.find(',') != std::string_view::npos) return whole;
    const RangeChoice none{.kind = RangeChoice::Kind::kUnsatisfiable, .first = 0, .length = 0};
    const std::string_view from = range.substr(0, dash), to = range.substr(dash + 1);
    if (from.empty()) {  // the last so many
        const auto suffix = number(to);
        if (!suffix) return whole;
        const std::uint64_t length = std::min(*suffix, size);
        if (length == 0) return none;
        return {.kind = RangeChoice::Kind::kPart, .first = size - length, .length = length};
    }
    const auto first = number(from);
    const auto last = to.empty() ? std::optional<std::uint64_t>(UINT64_MAX) : number(to);
    if (!first || !last || *last < *first) return whole;
    if (*first >= size) return none;
    return {.kind = RangeChoice::Kind::kPart,
            .first = *first,
            .length = std::min(*last, size - 1) - *first + 1};
}

std::string content_range(const RangeChoice& choice, std::uint64_t size) {
    if (choice.kind == RangeChoice::Kind::kUnsatisfiable) return fmt::format("bytes */{}", size);
    return fmt::format("bytes {}-{}/{}", choice.first, choice.first + choice.length - 1, size);
}

std::string sha256_of_digest_field(std::string_view field) {
    constexpr std::string_view kAlgorithm = "sha-256=:";
    constexpr std::size_t kDigestBytes = 32;
    while (!field.empty()) {
        const std::string_view member = trim(field.substr(0, field.find(',')));
        field.remove_prefix(std::min(field.size(), field.find(',') == std::string_view::npos
                                                       ? field.size()
                                                       : field.find(',') + 1));
        if (!member.starts_with(kAlgorithm) || !member.ends_with(':') ||
            member.size() <= kAlgorithm.size())
            continue;
        const auto bytes =
            from_base64(member.substr(kAlgorithm.size(), member.size() - kAlgorithm.size() - 1));
        if (!bytes || bytes->size() != kDigestBytes) return {};
        return to_hex({reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size()});
    }
    return {};
}

}  // namespace crab::net
