#include "agent/model_schema.hpp"

#include "json/value.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace crab::agent {
namespace {

using json::Value;

constexpr std::array<std::string_view, 6> kNowhere{
    "$schema", "$id", "$anchor", "$comment", "$dynamicAnchor", "$vocabulary"};
constexpr std::array<std::string_view, 13> kNotAtTheTop{"oneOf",
                                                        "anyOf",
                                                        "allOf",
                                                        "not",
                                                        "if",
                                                        "then",
                                                        "else",
                                                        "enum",
                                                        "const",
                                                        "dependentSchemas",
                                                        "dependentRequired",
                                                        "dependencies",
                                                        "unevaluatedProperties"};
constexpr std::array<std::string_view, 5> kMapsOfSchemas{"properties", "patternProperties", "$defs",
                                                         "definitions", "dependentSchemas"};
constexpr std::array<std::string_view, 9> kSchemas{
    "items",         "additionalProperties", "not", "if", "then", "else", "contains",
    "propertyNames", "unevaluatedItems"};
constexpr std::array<std::string_view, 4> kListsOfSchemas{"oneOf", "anyOf", "allOf", "prefixItems"};

void simplify(Value& schema);

void simplify_each(Value* list) {
    if (list == nullptr || !list->is_array()) return;
    for (Value& item : *list->as_array()) simplify(item);
}

bool is_of_type(const Value& schema, std::string_view wanted) {
    const Value* type = schema.find("type");
    if (type == nullptr) return false;
    const auto is_wanted = [&](const Value& one) {
        return one.as_string() != nullptr && *one.as_string() == wanted;
    };
    return is_wanted(*type) ||
           (type->is_array() && std::ranges::any_of(*type->as_array(), is_wanted));
}

/// What only older dialects say in that way: a list of `items`, and a Boolean beside a bound (draft
/// 4).
void modernize(Value& schema) {
    if (Value* items = schema.find("items"); items != nullptr && items->is_array()) {
        Value list = std::move(*items);
        schema.erase("items");
        if (Value* rest = schema.find("additionalItems"); rest != nullptr)
            schema.set("items", std::move(*rest));
        schema.set("prefixItems", std::move(list));
    }
    schema.erase("additionalItems");
    for (const auto& [exclusive, bound] :
         {std::pair("exclusiveMinimum", "minimum"), std::pair("exclusiveMaximum", "maximum")}) {
        const Value* flag = schema.find(exclusive);
        if (flag == nullptr || flag->as_bool() == nullptr) continue;
        const bool excludes = *flag->as_bool();
        schema.erase(exclusive);
        if (Value* limit = schema.find(bound); excludes && limit != nullptr) {
            schema.set(exclusive, std::move(*limit));
            schema.erase(bound);
        }
    }
    if (is_of_type(schema, "array") && schema.find("items") == nullptr)
        schema.set("items", Value::object());
}

void simplify(Value& schema) {
    if (const bool* anything = schema.as_bool(); anything != nullptr && *anything)
        schema = Value::object();
    if (!schema.is_object()) return;
    for (const auto key : kNowhere) schema.erase(key);
    modernize(schema);
    for (const auto key : kMapsOfSchemas) {
        Value* map = schema.find(key);
        if (map == nullptr || !map->is_object()) continue;
        for (auto& [name, member] : *map->as_object()) simplify(member);
    }
    for (const auto key : kSchemas) {
        Value* inner = schema.find(key);
        if (inner == nullptr) continue;
        const bool may_be_boolean =
            key == "additionalProperties" || key == "items" || key == "unevaluatedItems";
        if (inner->as_bool() != nullptr && may_be_boolean) continue;
        simplify(*inner);
    }
    for (const auto key : kListsOfSchemas) simplify_each(schema.find(key));
}

/// Vendors look for `properties` at the top: what a reference there points to takes its place, as
/// far as that leads.
void take_reference(Value& schema) {
    for (int hop = 0; hop < 8; ++hop) {
        const std::string* target = schema.find_string("$ref");
        const Value* found = target != nullptr && target->starts_with('#')
                                 ? schema.resolve(std::string_view(*target).substr(1))
                                 : nullptr;
        if (found == nullptr || !found->is_object()) return;
        const Value meant = *found;
        schema.erase("$ref");
        for (const auto& [name, member] : *meant.as_object()) {
            if (schema.find(name) == nullptr) schema.set(name, member);
        }
    }
    schema.erase("$ref");  // it goes round in a circle
}

}  // namespace

std::string schema_for_models(std::string_view schema) {
    auto parsed = Value::parse(schema);
    Value made = parsed && parsed->is_object() ? std::move(*parsed) : Value::object();
    take_reference(made);
    for (const auto key : kNotAtTheTop) made.erase(key);
    simplify(made);
    made.set("type", "object");
    if (const Value* properties = made.find("properties");
        properties == nullptr || !properties->is_object())
        made.set("properties", Value::object());
    return made.dump();
}

}  // namespace crab::agent
