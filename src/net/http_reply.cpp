#include "net/http_reply.hpp"

#include <algorithm>
#include <charconv>

namespace crab::net {
namespace {

bool same_name(std::string_view name, std::string_view lower_case) {
    return std::ranges::equal(name, lower_case, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; });
}

}  // namespace

std::optional<std::string_view> HttpReply::find(std::string_view lower_case_name) const {
    for (const auto& [name, value] : headers) {
        if (same_name(name, lower_case_name)) return value;
    }
    return std::nullopt;
}

std::optional<Milliseconds> HttpReply::retry_after() const {
    const auto text = find("retry-after");
    constexpr unsigned kDay = 86'400;
    unsigned seconds = 0;
    if (!text) return std::nullopt;
    const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), seconds);
    if (problem != std::errc() || end != text->data() + text->size()) return std::nullopt;
    return std::chrono::seconds(std::min(seconds, kDay));
}

}  // namespace crab::net
