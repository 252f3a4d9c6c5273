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

}  // namespace

std::optional<std::string> find_duplicate(Element value) {
    Object object;
    Array array;
    if (value.get(object) == simdjson::SUCCESS) {
        if (has_duplicate_members(value)) return first_duplicate(object);
        for (const auto field : object) {
            if (const auto inside = find_duplicate(field.value))
                return '/' + escape_pointer(field.key) + *inside;
        }
    } else if (value.get(array) == simdjson::SUCCESS) {
        std::size_t index = 0;
        for (const Element item : array) {
            if (const auto inside = find_duplicate(item))
                return '/' + std::to_string(index) + *inside;
            ++index;
        }
    }
    return std::nullopt;
}

}  // namespace crab::json
