#include "json/element.hpp"

#include "json/writer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace crab::json {
namespace {

template <class T>
std::optional<T> get_as(Element object, std::string_view key) {
    T out;
    if (object.at_key(key).get(out) != simdjson::SUCCESS) return std::nullopt;
    return out;
}

constexpr std::size_t kFewNames = 24;

/// Compares a name with those before it only if one of them has its length and ends alike, which
/// 64 bits remember.
bool has_duplicate_of_few(Object object) {
    struct Seen {
        const char* data;
        std::size_t size;
    };
    std::array<Seen, kFewNames> seen;  // not initialised: most objects have few names
    std::size_t count = 0;
    std::uint64_t kinds = 0;
    for (const auto field : object) {
        const std::string_view key = field.key;
        const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(key[at]); };
        const std::size_t ends = key.empty() ? 0 : 3U * byte(0) + byte(key.size() - 1);
        const std::uint64_t kind = std::uint64_t{1} << ((11 * key.size() + ends) % 64);
        if ((kinds & kind) != 0) {
            for (std::size_t i = 0; i < count; ++i)
                if (std::string_view(seen[i].data, seen[i].size) == key) return true;
        }
        kinds |= kind;
        seen[count++] = {key.data(), key.size()};
    }
    return false;
}

void write(Writer& writer, Element element) {
    switch (element.type()) {
        case simdjson::dom::element_type::OBJECT:
            writer.begin_object();
            for (const auto [key, value] : element.get_object().value_unsafe()) {
                writer.key(key);
                write(writer, value);
            }
            writer.end_object();
            break;
        case simdjson::dom::element_type::ARRAY:
            writer.begin_array();
            for (const Element item : element.get_array().value_unsafe()) write(writer, item);
            writer.end_array();
            break;
        case simdjson::dom::element_type::STRING:
            writer.string(element.get_string().value_unsafe());
            break;
        case simdjson::dom::element_type::INT64:
            writer.integer(element.get_int64().value_unsafe());
            break;
        case simdjson::dom::element_type::UINT64:
            writer.unsigned_integer(element.get_uint64().value_unsafe());
            break;
        case simdjson::dom::element_type::DOUBLE:
            writer.number(element.get_double().value_unsafe());
            break;
        case simdjson::dom::element_type::BOOL:
            writer.boolean(element.get_bool().value_unsafe());
            break;
        case simdjson::dom::element_type::NULL_VALUE: writer.null(); break;
    }
}

}  // namespace

std::optional<Element> get(Element object, std::string_view key) {
    return get_as<Element>(object, key);
}
std::optional<std::string_view> get_string(Element object, std::string_view key) {
    return get_as<std::string_view>(object, key);
}
std::optional<bool> get_bool(Element object, std::string_view key) {
    return get_as<bool>(object, key);
}
std::optional<double> get_double(Element object, std::string_view key) {
    return get_as<double>(object, key);
}
std::optional<Object> get_object(Element object, std::string_view key) {
    return get_as<Object>(object, key);
}
std::optional<Array> get_array(Element object, std::string_view key) {
    return get_as<Array>(object, key);
}

std::optional<std::int64_t> get_int64(Element object, std::string_view key) {
    if (const auto whole = get_as<std::int64_t>(object, key)) return whole;
    const auto real = get_as<double>(object, key);
    constexpr double kLimit = 9'223'372'036'854'775'808.0;  // 2^63
    if (!real || !(*real >= -kLimit && *real < kLimit)) return std::nullopt;
    const auto whole = static_cast<std::int64_t>(*real);
    if (static_cast<double>(whole) != *real) return std::nullopt;
    return whole;
}

bool has_duplicate_members(Element element) {
    Object object;
    if (element.get(object) != simdjson::SUCCESS) return false;
    if (object.size() <= kFewNames) return has_duplicate_of_few(object);
    // keeps its memory, so a steady stream of messages allocates nothing
    thread_local std::vector<std::string_view> names;
    names.clear();
    for (const auto field : object) names.push_back(field.key);
    std::ranges::sort(names);
    const bool found = std::ranges::adjacent_find(names) != names.end();
    constexpr std::size_t kWorthKeeping = std::size_t{1} << 16;
    if (names.capacity() > kWorthKeeping) std::vector<std::string_view>().swap(names);
    return found;
}

void append_text(std::string& out, Element element) {
    Writer writer(out);
    write(writer, element);
}

std::string to_text(Element element) {
    std::string out;
    append_text(out, element);
    return out;
}

}  // namespace crab::json
