#include "net/http/http_reply.hpp"

#include "net/codec/http_date.hpp"

#include <algorithm>
#include <charconv>

namespace crab::net {
namespace {

bool same_name(std::string_view name, std::string_view lower_case) {
    return std::ranges::equal(name, lower_case, [](char a, char b) {
        return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b;
    });
}

}  // namespace

std::optional<std::string_view> HttpReply::find(std::string_view lower_case_name) const {
    for (const auto& [name, value] : headers) {
        if (same_name(name, lower_case_name)) return value;
    }
    return std::nullopt;
}

std::optional<Milliseconds> HttpReply::retry_after(SystemTime now) const {
    const auto text = find("retry-after");
    return text ? parse_retry_after(*text, find("date").value_or(""), now) : std::nullopt;
}

std::optional<Milliseconds> parse_retry_after(std::string_view text, std::string_view date,
                                              SystemTime now) {
    constexpr std::chrono::seconds kDay{86'400};
    unsigned seconds = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (!text.empty() && end == text.data() + text.size()) {
        // a number beyond all measure asks for long, not for nothing
        if (problem == std::errc::result_out_of_range) return kDay;
        if (problem == std::errc()) return std::min(std::chrono::seconds(seconds), kDay);
    }
    const auto then = parse_http_date(text);
    if (!then) return std::nullopt;
    const SystemTime from = parse_http_date(date).value_or(now);
    return std::clamp(std::chrono::ceil<std::chrono::seconds>(*then - from),
                      std::chrono::seconds(0), kDay);
}

}  // namespace crab::net
