#include "json/schema/schema_text.hpp"

#include "json/writer.hpp"

#include <fmt/format.h>

#include <array>

namespace crab::json {
namespace {

constexpr std::size_t kMaxList = 20;
constexpr std::size_t kMaxListBytes = 240;

template <class Show>
std::string list(std::size_t count, Show show) {
    std::string out;
    std::size_t done = 0;
    for (; done < count && done < kMaxList; ++done) {
        const std::string next = show(done);
        if (done > 0 && out.size() + next.size() > kMaxListBytes) break;
        if (done > 0) out += ", ";
        out += next;
    }
    if (done < count) out += fmt::format(" and {} more", count - done);
    return out;
}

}  // namespace

std::string shortened(std::string text, std::size_t limit) {
    if (text.size() <= limit) return text;
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
    text.resize(limit);
    return text + "…";
}

std::string shown(Element value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "an array";
    return shortened(to_text(value));
}
std::string shown(const Value& value) { return shortened(value.dump()); }
std::string shown(const Number& number) {
    return std::visit([](auto value) { return Value(value).dump(); }, number);
}

std::string quoted_name(std::string_view name) {
    std::string out;
    append_quoted(out, name);
    return shortened(std::move(out));
}

std::string name_types(std::uint8_t types) {
    struct Row {
        std::uint8_t bits;
        std::string_view name;
    };
    constexpr std::array kRows{Row{kNumber, "a number"},       Row{kString, "a string"},
                               Row{kBoolean, "true or false"}, Row{kArray, "an array"},
                               Row{kObject, "an object"},      Row{kNull, "null"}};
    std::string out;
    const auto add = [&](std::string_view name) {
        out.append(out.empty() ? "" : " or ").append(name);
    };
    if ((types & kInteger) != 0 && (types & kNumber) == 0) add("an integer");
    for (const Row& row : kRows) {
        if ((types & row.bits) != 0) add(row.name);
    }
    return out;
}

std::string name_type_of(Element value) {
    using simdjson::dom::element_type;
    switch (value.type()) {
        case element_type::OBJECT: return "an object";
        case element_type::ARRAY: return "an array";
        case element_type::STRING: return "the string " + shortened(to_text(value), 40);
        case element_type::BOOL: return value.get_bool().value_unsafe() ? "true" : "false";
        case element_type::NULL_VALUE: return "null";
        case element_type::INT64:
        case element_type::UINT64:
        case element_type::DOUBLE: break;
    }
    return "the number " + to_text(value);
}

std::string list_values(const ValueRules& rules) {
    return list(rules.allowed.size(), [&](std::size_t i) { return shown(rules.allowed[i]); });
}

std::string list_names(const ObjectRules& rules) {
    std::vector<std::string> known;
    for (std::uint32_t i = 0; i < rules.properties.size(); ++i) {
        if (rules.properties[i] != kNone) known.push_back(quoted_name(rules.names.name(i)));
    }
    if (known.empty()) return "no property";
    return list(known.size(), [&](std::size_t i) { return known[i]; });
}

}  // namespace crab::json
