#include "agent/model_schema.hpp"

#include "json/value.hpp"

#include <array>

namespace crab::agent {
namespace {

using json::Value;

constexpr std::array<std::string_view, 6> kNowhere{"$schema", "$id", "$anchor", "$comment", "$dynamicAnchor", "$vocabulary"};
constexpr std::array<std::string_view, 13> kNotAtTheTop{"oneOf", "anyOf", "allOf", "not", "if", "then", "else", "enum", "const",
                                                        "dependentSchemas", "dependentRequired", "dependencies", "unevaluatedProperties"};
constexpr std::array<std::string_view, 5> kMapsOfSchemas{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"};
constexpr std::array<std::string_view, 10> kSchemas{"items", "additionalProperties", "additionalItems", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems"};
constexpr std::array<std::string_view, 4> kListsOfSchemas{"oneOf", "anyOf", "allOf", "prefixItems"};

void simplify(Value& schema);

void simplify_each(Value* list) {
    if (list == nullptr || !list->is_array()) return;
    for (Value& item : *list->as_array()) simplify(item);
}

void simplify(Value& schema) {
    if (const bool* anything = schema.as_bool(); anything != nullptr && *anything) schema = Value::object();
    if (!schema.is_object()) return;
    for (const auto key : kNowhere) schema.erase(key);
    for (const auto key : kMapsOfSchemas) {
        Value* map = schema.find(key);
        if (map == nullptr || !map->is_object()) continue;
        for (auto& [name, member] : *map->as_object()) simplify(member);
    }
    for (const auto key : kSchemas) {
        Value* inner = schema.find(key);
        if (inner == nullptr) continue;
        const bool may_be_boolean = key == "additionalProperties" || key == "additionalItems" || key == "unevaluatedItems";
        if (inner->as_bool() != nullptr && may_be_boolean) continue;
        if (inner->is_array()) {
            simplify_each(inner);
        } else {
            simplify(*inner);
        }
    }
    for (const auto key : kListsOfSchemas) simplify_each(schema.find(key));
}

}  // namespace

std::string schema_for_models(std::string_view schema) {
    auto parsed = Value::parse(schema);
    Value made = parsed && parsed->is_object() ? std::move(*parsed) : Value::object();
    for (const auto key : kNotAtTheTop) made.erase(key);
    simplify(made);
    made.set("type", "object");
    if (const Value* properties = made.find("properties"); properties == nullptr || !properties->is_object()) made.set("properties", Value::object());
    return made.dump();
}

const std::string& ModelSchemas::of(std::string_view schema) {
    if (const auto it = known_.find(schema); it != known_.end()) return it->second;
    if (known_.size() >= kMost) known_.clear();
    return known_.emplace(std::string(schema), schema_for_models(schema)).first->second;
}

}  // namespace crab::agent
