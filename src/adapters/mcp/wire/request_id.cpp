#include "adapters/mcp/wire/request_id.hpp"

#include "base/hash.hpp"
#include "json/writer.hpp"

#include <functional>
#include <utility>

namespace crab::mcp {

RequestId::RequestId(std::int64_t number) : value_(number), json_(std::to_string(number)) {}

RequestId::RequestId(std::string text) : value_(std::move(text)) {
    json::append_quoted(json_, std::get<std::string>(value_));
}

std::optional<RequestId> RequestId::read(json::Element element, std::string_view raw) {
    std::string_view text;
    if (element.get(text) == simdjson::SUCCESS) {
        if (text.size() > kMaxIdBytes) return std::nullopt;
        RequestId id{std::string(text)};
        id.json_ = raw;
        return id;
    }
    std::int64_t whole = 0;
    double real = 0;
    if (element.get(whole) != simdjson::SUCCESS) {
        constexpr double kLimit = kMaxSafeInteger;
        if (element.type() != simdjson::dom::element_type::DOUBLE ||
            element.get(real) != simdjson::SUCCESS || !(real >= -kLimit && real <= kLimit))
            return std::nullopt;
        whole = static_cast<std::int64_t>(real);
        if (static_cast<double>(whole) != real) return std::nullopt;
    }
    if (whole > kMaxSafeInteger || whole < -kMaxSafeInteger) return std::nullopt;
    RequestId id(whole);
    id.json_ = raw;
    return id;
}

std::size_t RequestIdHash::operator()(const RequestId& id) const {
    if (const std::string* text = id.text()) return hash_text(*text);
    return std::hash<std::int64_t>{}(*id.number());
}

}  // namespace crab::mcp
