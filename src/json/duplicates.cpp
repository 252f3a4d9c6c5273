#include "json/duplicates.hpp"

#include "json/pointer.hpp"

#include <string_view>
#include <unordered_set>

namespace crab::json {
namespace {

/// Of an object that has one.
std::string first_duplicate(Object object) {
    std::unordered_set<std::string_view> seen;
    for (const auto field : object) {
        if (!seen.insert(field.key).second) return '/' + escape_pointer(field.key);
    }
    return {};
}

bool holds_values(Element value) { return value.is_object() || value.is_array(); }

/// Of a value that has one; else nothing.
std::optional<std::string> place_of_duplicate(Element value) {
    Object object;
    Array array;
    if (value.get(object) == simdjson::SUCCESS) {
        if (has_duplicate_members(value)) return first_duplicate(object);
        for (const auto field : object) {
            if (const auto inside = place_of_duplicate(field.value))
                return '/' + escape_pointer(field.key) + *inside;
        }
    } else if (value.get(array) == simdjson::SUCCESS) {
        std::size_t index = 0;
        for (const Element item : array) {
            if (const auto inside = place_of_duplicate(item))
                return '/' + std::to_string(index) + *inside;
            ++index;
        }
    }
    return std::nullopt;
}

}  // namespace

bool has_duplicate(Element value) {
    if (value.is_object()) {
        if (has_duplicate_members(value)) return true;
        for (const auto field : value.get_object().value_unsafe())
            if (holds_values(field.value) && has_duplicate(field.value)) return true;
    } else if (value.is_array()) {
        for (const Element item : value.get_array().value_unsafe())
            if (holds_values(item) && has_duplicate(item)) return true;
    }
    return false;
}

std::optional<std::string> find_duplicate(Element value) {
    return has_duplicate(value) ? place_of_duplicate(value) : std::nullopt;
}

}  // namespace crab::json
