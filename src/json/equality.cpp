// Equality and hashes by JSON Schema's rules (2020-12 core, section 4.2.2), on parsed and owned
// values alike.

#include "base/hash.hpp"
#include "json/value.hpp"

#include <functional>

namespace crab::json {
namespace {

using simdjson::dom::element_type;

bool is_number(Element element) {
    return element.is_int64() || element.is_uint64() || element.is_double();
}

Number number_of(Element element) {
    if (element.type() == element_type::INT64) return element.get_int64().value_unsafe();
    if (element.type() == element_type::UINT64) return element.get_uint64().value_unsafe();
    return element.get_double().value_unsafe();
}

// Objects with fewer members than this are compared pair by pair.
constexpr std::size_t kSmall = 16;

bool equal_objects(Object left, Object right) {
    if (left.size() != right.size()) return false;
    if (left.size() <= kSmall) {
        for (const auto field : left) {
            Element other;
            if (right.at_key(field.key).get(other) != simdjson::SUCCESS ||
                !equal(field.value, other))
                return false;
        }
        return true;
    }
    using Field = std::pair<std::string_view, Element>;
    const auto sorted = [](Object object) {
        std::vector<Field> fields;
        fields.reserve(object.size());
        for (const auto field : object) fields.emplace_back(field.key, field.value);
        std::ranges::sort(fields, {}, &Field::first);
        return fields;
    };
    return std::ranges::equal(
        sorted(left), sorted(right), [](const Field& one, const Field& other) {
            return one.first == other.first && equal(one.second, other.second);
        });
}

std::size_t mix(std::size_t seed, std::size_t value) {
    return (seed ^ value) * 0x9E37'79B9'7F4A'7C15 + (seed >> 29);
}
// Numbers that are equal are equal as doubles too, though not the other way round.
std::size_t hash_number(const Number& number) {
    const double value = std::visit([](auto n) { return static_cast<double>(n); }, number);
    return mix(3, std::hash<double>{}(value == 0 ? 0.0 : value));
}

}  // namespace

bool equal(Element left, Element right) {
    if (is_number(left) && is_number(right)) return compare(number_of(left), number_of(right)) == 0;
    if (left.type() != right.type()) return false;
    switch (left.type()) {
        case element_type::OBJECT:
            return equal_objects(left.get_object().value_unsafe(),
                                 right.get_object().value_unsafe());
        case element_type::ARRAY: {
            const Array one = left.get_array().value_unsafe();
            const Array other = right.get_array().value_unsafe();
            if (one.size() != other.size()) return false;
            for (auto a = one.begin(), b = other.begin(); a != one.end(); ++a, ++b) {
                if (!equal(*a, *b)) return false;
            }
            return true;
        }
        case element_type::STRING:
            return left.get_string().value_unsafe() == right.get_string().value_unsafe();
        case element_type::BOOL:
            return left.get_bool().value_unsafe() == right.get_bool().value_unsafe();
        case element_type::NULL_VALUE: return true;
        case element_type::INT64:
        case element_type::UINT64:
        case element_type::DOUBLE: break;  // both were numbers
    }
    return false;
}

bool equal(Element element, const Value& value) {
    switch (element.type()) {
        case element_type::OBJECT: {
            const auto* members = value.as_object();
            const Object object = element.get_object().value_unsafe();
            if (!members || members->size() != object.size()) return false;
            for (const auto& [key, member] : *members) {
                Element other;
                if (object.at_key(key).get(other) != simdjson::SUCCESS || !equal(other, member))
                    return false;
            }
            return true;
        }
        case element_type::ARRAY: {
            const auto* items = value.as_array();
            const Array array = element.get_array().value_unsafe();
            if (!items || items->size() != array.size()) return false;
            return std::ranges::equal(
                array, *items, [](Element one, const Value& other) { return equal(one, other); });
        }
        case element_type::STRING: {
            const auto* text = value.as_string();
            return text && element.get_string().value_unsafe() == *text;
        }
        case element_type::BOOL: {
            const auto* truth = value.as_bool();
            return truth && element.get_bool().value_unsafe() == *truth;
        }
        case element_type::NULL_VALUE: return value.is_null();
        case element_type::INT64:
        case element_type::UINT64:
        case element_type::DOUBLE: break;
    }
    const auto number = value.as_number();
    return number && compare(number_of(element), *number) == 0;
}

std::size_t hash_of(Element element) {
    switch (element.type()) {
        case element_type::OBJECT: {
            std::size_t sum = 7;  // a sum, because the order of members does not count
            for (const auto field : element.get_object().value_unsafe())
                sum += mix(hash_text(field.key), hash_of(field.value));
            return sum;
        }
        case element_type::ARRAY: {
            std::size_t hash = 5;
            for (const Element item : element.get_array().value_unsafe())
                hash = mix(hash, hash_of(item));
            return hash;
        }
        case element_type::STRING: return hash_text(element.get_string().value_unsafe());
        case element_type::BOOL: return element.get_bool().value_unsafe() ? 1 : 2;
        case element_type::NULL_VALUE: return 0;
        case element_type::INT64:
        case element_type::UINT64:
        case element_type::DOUBLE: break;
    }
    return hash_number(number_of(element));
}

std::size_t hash_of(const Value& value) {
    if (const auto* members = value.as_object()) {
        std::size_t sum = 7;
        for (const auto& [key, member] : *members) sum += mix(hash_text(key), hash_of(member));
        return sum;
    }
    if (const auto* items = value.as_array()) {
        std::size_t hash = 5;
        for (const Value& item : *items) hash = mix(hash, hash_of(item));
        return hash;
    }
    if (const auto* text = value.as_string()) return hash_text(*text);
    if (const auto* truth = value.as_bool()) return *truth ? 1 : 2;
    if (const auto number = value.as_number()) return hash_number(*number);
    return 0;
}

}  // namespace crab::json
