#include "adapters/mcp/wire/request_id.hpp"

#include "adapters/mcp/wire/number_text.hpp"
#include "base/hash.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <functional>
#include <utility>

namespace crab::mcp {
namespace {

// digits may go on for ever (`1.000…`), and all of them are kept and repeated
constexpr std::size_t kMaxIdDigits = 64;

/// What a client that counts its requests sends.
std::optional<std::int64_t> small_count(std::string_view raw) {
    constexpr std::size_t kDigits = 15;  // all such numbers are within 2^53
    if (raw.empty() || raw.size() > kDigits || (raw.size() > 1 && raw[0] == '0'))
        return std::nullopt;
    std::int64_t count = 0;
    for (const char c : raw) {
        if (c < '0' || c > '9') return std::nullopt;
        count = 10 * count + (c - '0');
    }
    return count;
}

}  // namespace

RequestId::RequestId(std::int64_t number) : value_(number), json_(std::to_string(number)) {}

RequestId::RequestId(std::string text) : value_(std::move(text)) {
    json::append_quoted(json_, std::get<std::string>(value_));
}

std::optional<RequestId> RequestId::read(std::string_view raw) {
    if (const auto count = small_count(raw)) return RequestId(*count, raw);
    if (auto text = json::read_raw_string(raw)) {
        if (text->size() > kMaxIdBytes) return std::nullopt;
        RequestId id(std::move(*text));
        id.json_ = raw;
        return id;
    }
    if (raw.size() > kMaxIdDigits) return std::nullopt;
    const auto number = read_number(raw);
    constexpr json::Number kLimit = kMaxSafeInteger;
    constexpr json::Number kNegativeLimit = -kMaxSafeInteger;
    if (!number || json::compare(*number, kLimit) > 0 || json::compare(*number, kNegativeLimit) < 0)
        return std::nullopt;
    std::int64_t whole = 0;
    if (const auto* real = std::get_if<double>(&*number)) {
        if (!json::is_whole(*real)) return std::nullopt;
        whole = static_cast<std::int64_t>(*real);
    } else {
        whole = std::get<std::int64_t>(*number);
    }
    return RequestId(whole, raw);
}

std::size_t RequestIdHash::operator()(const RequestId& id) const {
    if (const std::string* text = id.text()) return hash_text(*text);
    return std::hash<std::int64_t>{}(*id.number());
}

}  // namespace crab::mcp
