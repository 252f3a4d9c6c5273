#include "json/schema/schema_compiler.hpp"

#include "json/schema/schema_keywords.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace crab::json {
namespace {

template <class T>
std::uint32_t keep(std::vector<T>& list, T&& rules) {
    list.push_back(std::move(rules));
    return static_cast<std::uint32_t>(list.size() - 1);
}

constexpr std::size_t kRulesOfNode = 256;  // bytes; most nodes have one group of rules
// bytes that the time for it is worth: every engine has tried
constexpr std::size_t kRefusedPattern = 32 << 10;

/// How many values and bytes of text a comparison looks at; 0 for a scalar that is soon compared.
std::uint64_t weight_of(const Value& value) {
    std::uint64_t weight = 0;
    if (const auto* members = value.as_object()) {
        for (const auto& [name, member] : *members)
            weight += 1 + name.size() / 64 + weight_of(member);
    } else if (const auto* items = value.as_array()) {
        for (const Value& item : *items) weight += 1 + weight_of(item);
    } else if (const std::string* text = value.as_string()) {
        weight = text->size() / 64;
    }
    return weight;
}

std::optional<std::uint8_t> type_bit(std::string_view name) {
    if (name == "null") return kNull;
    if (name == "boolean") return kBoolean;
    if (name == "object") return kObject;
    if (name == "array") return kArray;
    if (name == "string") return kString;
    if (name == "number") return kNumber | kInteger;
    if (name == "integer") return kInteger;
    return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<const SchemaProgram>> SchemaCompiler::compile(std::string_view text) {
    auto root = resources_.add_root(text);
    if (!root) return fail(std::move(root.error()));
    node_for(*root);
    // Reading a node may ask for others, which then wait at the end of the list; no recursion,
    // however long a chain of references.
    NodeId next = 0;
    do {
        for (; next < program_->nodes.size() && !error_; ++next) read(next);
    } while (!error_ && close_dynamic_references());
    if (error_) return fail(std::move(*error_));
    for (const SchemaPlace& place : places_) program_->locations.push_back(place.location);
    program_->bytes = resources_.spent();
    return std::unique_ptr<const SchemaProgram>(std::move(program_));
}

NodeId SchemaCompiler::node_for(const SchemaPlace& place) {
    const auto [known, is_new] =
        known_.emplace(place.schema, static_cast<NodeId>(program_->nodes.size()));
    if (!is_new) return known->second;
    if (program_->nodes.size() == kMaxNodes) {
        error_ = Error{.code = ErrorCode::kOversize,
                       .message = fmt::format("the schema has more than {} subschemas", kMaxNodes)};
        return 0;
    }
    spend(sizeof(SchemaNode) + kRulesOfNode + place.location.size());
    program_->nodes.emplace_back();
    places_.push_back(place);
    return known->second;
}

void SchemaCompiler::read(NodeId id) {
    const SchemaPlace place = places_[id];
    Reading at{*place.schema, place, resources_.resource(place.resource)};
    at.node.resource = place.resource;
    at.node.strict_integer = at.resource.dialect == Dialect::kDraft4;
    if (const bool* truth = at.schema.as_bool()) {
        at.node.accepts_all = *truth;
        at.node.accepts_none = !*truth;
    } else {
        const bool only_reference = !at.since(Dialect::k2019_09) && at.schema.find("$ref");
        const Vocabularies& active = at.resource.vocabularies;
        if (active.validation && !only_reference) {
            read_types(at);
            read_values(at);
            read_numbers(at);
        }
        if (!only_reference) {
            read_strings(at);
            read_arrays(at);
            read_objects(at);
        }
        read_in_place(at);
        at.node.accepts_all = at.node.types == kAnyType && at.node.values == kNone &&
                              at.node.numbers == kNone && at.node.strings == kNone &&
                              at.node.arrays == kNone && at.node.objects == kNone &&
                              at.node.in_place == kNone;
    }
    program_->nodes[id] = at.node;
}

void SchemaCompiler::spend(std::size_t bytes) {
    if (auto room = resources_.spend(bytes); !room && !error_) error_ = std::move(room.error());
}

std::optional<Pattern> SchemaCompiler::pattern(const Reading& at, std::string_view keyword,
                                               std::string_view ecma) {
    if (error_) return std::nullopt;  // so that nothing is compiled beyond what is allowed
    auto compiled = Pattern::compile(ecma);
    if (!compiled) {
        (void)resources_.spend(kRefusedPattern);
        refuse(at, keyword, compiled.error().message);
        return std::nullopt;
    }
    spend(compiled->bytes());
    return std::move(*compiled);
}

void SchemaCompiler::refuse(const Reading& at, std::string_view keyword, std::string_view reason) {
    if (error_) return;
    error_ = Error{.code = ErrorCode::kInvalidArgs,
                   .message = fmt::format("schema {}/{}: {}", at.place.location, keyword, reason)};
}

std::optional<Number> SchemaCompiler::number(const Reading& at, std::string_view keyword) {
    const Value* value = find(at, keyword);
    if (!value) return std::nullopt;
    const auto found = value->as_number();
    if (!found) refuse(at, keyword, "must be a number");
    return found;
}

bool SchemaCompiler::count(const Reading& at, std::string_view keyword, std::size_t& out) {
    const Value* value = find(at, keyword);
    if (!value) return false;
    const auto whole = value->as_int64();
    if (whole && *whole >= 0) {
        out = static_cast<std::size_t>(*whole);
        return true;
    }
    const auto real = value->as_double();
    if (real && *real > 0 && is_whole(*real)) {  // beyond 64 bits
        out = std::numeric_limits<std::size_t>::max();
        return true;
    }
    refuse(at, keyword, "must be a whole number, 0 or more");
    return false;
}

bool SchemaCompiler::flag(const Reading& at, std::string_view keyword) {
    const Value* value = find(at, keyword);
    if (!value) return false;
    if (!value->as_bool()) refuse(at, keyword, "must be true or false");
    return value->as_bool() && *value->as_bool();
}

std::optional<std::vector<std::string_view>> SchemaCompiler::names(const Reading& at,
                                                                   std::string_view keyword,
                                                                   const Value& value) {
    std::vector<std::string_view> out;
    if (value.as_array()) {
        for (const Value& item : *value.as_array()) {
            if (!item.as_string()) break;
            out.push_back(*item.as_string());
        }
    }
    if (value.as_array() && out.size() == value.as_array()->size()) return out;
    refuse(at, keyword, "must be an array of property names");
    return std::nullopt;
}

NodeId SchemaCompiler::optional_subschema(const Reading& at, std::string_view keyword) {
    const Value* value = find(at, keyword);
    return value && find_subschema_form(keyword, at.resource.dialect) ? subschema(*value) : kNone;
}

std::vector<NodeId> SchemaCompiler::subschemas(const Reading& at, std::string_view keyword) {
    const Value* value = find(at, keyword);
    std::vector<NodeId> out;
    if (!value || !find_subschema_form(keyword, at.resource.dialect)) return out;
    if (value->as_array()->empty()) refuse(at, keyword, "must not be empty");
    for (const Value& item : *value->as_array()) out.push_back(subschema(item));
    return out;
}

void SchemaCompiler::read_types(Reading& at) {
    const Value* value = find(at, "type");
    if (!value) return;
    at.node.types = 0;
    const auto add = [&](const Value& name) {
        const auto bit = name.as_string() ? type_bit(*name.as_string()) : std::nullopt;
        if (!bit)
            return refuse(
                at, "type",
                R"(must name types out of "null", "boolean", "object", "array", "number",)"
                R"( "integer" and "string")");
        at.node.types |= *bit;
    };
    if (!value->as_array()) return add(*value);
    if (value->as_array()->empty()) refuse(at, "type", "must not be empty");
    for (const Value& name : *value->as_array()) add(name);
}

void SchemaCompiler::read_values(Reading& at) {
    ValueRules rules;
    if (const Value* value = find(at, "enum")) {
        if (!value->as_array()) return refuse(at, "enum", "must be an array");
        rules.allowed = *value->as_array();
        // both hold
        if (const Value* single = at.since(Dialect::kDraft6) ? find(at, "const") : nullptr) {
            std::erase_if(rules.allowed,
                          [&](const Value& allowed) { return !(allowed == *single); });
        }
    } else if (const Value* single = at.since(Dialect::kDraft6) ? find(at, "const") : nullptr) {
        rules.allowed.push_back(*single);
        rules.is_const = true;
    } else {
        return;
    }
    constexpr std::size_t kShort = 8, kMostTexts = 64;  // a table of texts takes more memory
    const auto text_of = [](const Value& value) { return value.as_string(); };
    if (rules.allowed.size() <= kMostTexts && std::ranges::all_of(rules.allowed, text_of)) {
        for (const Value& allowed : rules.allowed) rules.texts.add(*allowed.as_string());
        at.node.values = keep(program_->values, std::move(rules));
        return;
    }
    if (rules.allowed.size() > kShort) {
        for (std::uint32_t i = 0; i < rules.allowed.size(); ++i)
            rules.by_hash.emplace_back(hash_of(rules.allowed[i]), i);
        std::ranges::sort(rules.by_hash);
    }
    for (const Value& allowed : rules.allowed) rules.weight += weight_of(allowed);
    if (!rules.by_hash.empty()) ++rules.weight;
    at.node.values = keep(program_->values, std::move(rules));
}

void SchemaCompiler::read_numbers(Reading& at) {
    NumberRules rules;
    rules.minimum = number(at, "minimum");
    rules.maximum = number(at, "maximum");
    if (at.since(Dialect::kDraft6)) {
        rules.exclusive_minimum = number(at, "exclusiveMinimum");
        rules.exclusive_maximum = number(at, "exclusiveMaximum");
    } else {
        if (flag(at, "exclusiveMinimum")) std::swap(rules.minimum, rules.exclusive_minimum);
        if (flag(at, "exclusiveMaximum")) std::swap(rules.maximum, rules.exclusive_maximum);
    }
    rules.multiple_of = number(at, "multipleOf");
    if (rules.multiple_of && compare(*rules.multiple_of, std::int64_t{0}) <= 0)
        refuse(at, "multipleOf", "must be more than 0");
    if (rules.minimum || rules.maximum || rules.exclusive_minimum || rules.exclusive_maximum ||
        rules.multiple_of) {
        at.node.numbers = keep(program_->numbers, std::move(rules));
    }
}

void SchemaCompiler::read_strings(Reading& at) {
    StringRules rules;
    bool any = false;
    const Vocabularies& active = at.resource.vocabularies;
    if (active.validation) {
        any = count(at, "minLength", rules.min_length);
        any = count(at, "maxLength", rules.max_length) || any;
        if (const Value* value = find(at, "pattern")) {
            if (!value->as_string()) return refuse(at, "pattern", "must be a string");
            rules.pattern = pattern(at, "pattern", *value->as_string());
            if (!rules.pattern) return;
            rules.pattern_text = *value->as_string();
            any = true;
        }
    }
    if (const Value* value = find(at, "format")) {
        if (!value->as_string()) return refuse(at, "format", "must be a string");
        if (active.format_assertion) rules.format = find_format(*value->as_string());
        rules.format_name = *value->as_string();
        any = any || rules.format;
    }
    if (any) at.node.strings = keep(program_->strings, std::move(rules));
}

void SchemaCompiler::read_arrays(Reading& at) {
    ArrayRules rules;
    bool any = false;
    if (at.resource.vocabularies.validation) {
        any = count(at, "minItems", rules.min_items);
        any = count(at, "maxItems", rules.max_items) || any;
        rules.unique = flag(at, "uniqueItems");
    }
    if (at.resource.vocabularies.applicator) {
        const Value* items = find(at, "items");
        if (at.since(Dialect::k2020_12)) {
            rules.prefix = subschemas(at, "prefixItems");
            rules.rest = optional_subschema(at, "items");
        } else if (items && items->as_array()) {
            for (const Value& item : *items->as_array()) rules.prefix.push_back(subschema(item));
            const Value* more = find(at, "additionalItems");
            if (more && more->as_bool() && !at.since(Dialect::kDraft6)) {
                // draft 4 has no schema `false`
                if (!*more->as_bool())
                    rules.max_items = std::min(rules.max_items, rules.prefix.size());
                any = true;
            } else if (more) {
                rules.rest = subschema(*more);
            }
            rules.rest_keyword = "additionalItems";
        } else if (items) {
            rules.rest = subschema(*items);
        }
        rules.contains = optional_subschema(at, "contains");
        if (rules.contains != kNone && at.since(Dialect::k2019_09) &&
            at.resource.vocabularies.validation) {
            count(at, "minContains", rules.min_contains);
            count(at, "maxContains", rules.max_contains);
        }
        rules.contains_evaluates = at.since(Dialect::k2020_12);
    }
    if (any || rules.unique || !rules.prefix.empty() || rules.rest != kNone ||
        rules.contains != kNone) {
        at.node.arrays = keep(program_->arrays, std::move(rules));
    }
}

void SchemaCompiler::read_objects(Reading& at) {
    ObjectRules rules;
    bool any = false;
    const Vocabularies& active = at.resource.vocabularies;
    if (active.validation) {
        any = count(at, "minProperties", rules.min_properties);
        any = count(at, "maxProperties", rules.max_properties) || any;
        if (const Value* value = find(at, "required")) {
            const auto required = names(at, "required", *value);
            if (!required) return;
            for (const std::string_view name : *required) rules.names.add(name);
            rules.required = static_cast<std::uint32_t>(rules.names.size());
        }
    }
    if (active.applicator) {
        if (const Value* value = find(at, "properties")) {
            for (const auto& [name, schema] : *value->as_object()) {
                const std::uint32_t number = rules.names.add(name);
                rules.properties.resize(std::max<std::size_t>(rules.properties.size(), number + 1),
                                        kNone);
                rules.properties[number] = subschema(schema);
            }
        }
        if (const Value* value = find(at, "patternProperties")) {
            for (const auto& [text, schema] : *value->as_object()) {
                auto compiled = pattern(at, "patternProperties", text);
                if (!compiled) return;
                rules.patterns.emplace_back(std::move(*compiled), subschema(schema));
            }
        }
        const Value* more = find(at, "additionalProperties");
        if (more && more->as_bool() && !at.since(Dialect::kDraft6)) {
            // draft 4 has no schema `false`, so this node gets one that no schema is written for
            if (!*more->as_bool()) {
                static const Value refuses_all(false);
                rules.additional = node_for(SchemaPlace{
                    &refuses_all, at.place.resource, at.place.location + "/additionalProperties"});
            }
        } else if (more) {
            rules.additional = subschema(*more);
        }
        rules.property_names = optional_subschema(at, "propertyNames");
    }
    read_dependencies(at, rules);
    rules.properties.resize(rules.names.size(), kNone);
    if (any || rules.names.size() > 0 || !rules.patterns.empty() || rules.additional != kNone ||
        rules.property_names != kNone) {
        at.node.objects = keep(program_->objects, std::move(rules));
    }
}

void SchemaCompiler::read_dependencies(Reading& at, ObjectRules& rules) {
    const auto add = [&](const char* keyword, bool schemas, bool arrays) {
        const Value* value = find(at, keyword);
        if (!value) return;
        if (!value->as_object()) return refuse(at, keyword, "must be an object");
        for (const auto& [name, needs] : *value->as_object()) {
            const bool is_list = needs.as_array() != nullptr;
            Dependency dependency{
                .trigger = rules.names.add(name), .needed = {}, .keyword = keyword};
            if (arrays && (is_list || !schemas)) {
                const auto needed = names(at, keyword, needs);
                if (!needed) return;
                for (const std::string_view other : *needed)
                    dependency.needed.push_back(rules.names.add(other));
            } else {
                dependency.schema = subschema(needs);
            }
            rules.dependencies.push_back(std::move(dependency));
        }
    };
    const Vocabularies& active = at.resource.vocabularies;
    if (active.applicator) add("dependencies", true, true);  // since 2019-09 only for compatibility
    if (!at.since(Dialect::k2019_09)) return;
    if (active.validation) add("dependentRequired", false, true);
    if (active.applicator) add("dependentSchemas", true, false);
}

void SchemaCompiler::read_references(Reading& at, InPlaceRules& rules) {
    const auto resolve = [&](std::string_view keyword) -> std::optional<SchemaPlace> {
        const Value* value = find(at, keyword);
        if (!value) return std::nullopt;
        if (!value->as_string()) return refuse(at, keyword, "must be a string"), std::nullopt;
        auto place = resources_.resolve(at.place.resource, *value->as_string());
        if (!place) return refuse(at, keyword, place.error().message), std::nullopt;
        return std::move(*place);
    };
    if (const auto place = resolve("$ref")) rules.reference = node_for(*place);
    if (at.resource.dialect == Dialect::k2020_12) {
        if (const auto place = resolve("$dynamicRef")) {
            DynamicReference& dynamic = rules.dynamic.emplace();
            dynamic.otherwise = node_for(*place);
            const std::string& reference = *find(at, "$dynamicRef")->as_string();
            const auto& anchors = resources_.resource(place->resource).dynamic_anchors;
            const auto anchor = anchors.find(
                reference.substr(std::min(reference.find('#'), reference.size() - 1) + 1));
            if (anchor != anchors.end() && anchor->second == place->schema)
                dynamic.anchor = anchor->first;
        }
    } else if (at.resource.dialect == Dialect::k2019_09) {
        if (const auto place = resolve("$recursiveRef")) {
            DynamicReference& dynamic = rules.dynamic.emplace();
            dynamic.otherwise = node_for(*place);
            dynamic.keyword = "$recursiveRef";
        }
    }
    if (!rules.dynamic) return;
    // Without the anchor where it leads at first, it is an ordinary reference.
    const auto& anchors =
        resources_.resource(places_[rules.dynamic->otherwise].resource).dynamic_anchors;
    const auto anchor = anchors.find(rules.dynamic->anchor);
    if (anchor != anchors.end()) {
        program_->dynamic = true;
    } else {
        rules.all_of.push_back(rules.dynamic->otherwise);
        rules.dynamic.reset();
    }
}

void SchemaCompiler::read_in_place(Reading& at) {
    InPlaceRules rules;
    if (at.since(Dialect::k2019_09) || !at.schema.find("$ref")) {
        if (at.resource.vocabularies.applicator) {
            rules.all_of = subschemas(at, "allOf");
            rules.any_of = subschemas(at, "anyOf");
            rules.one_of = subschemas(at, "oneOf");
            rules.none_of = optional_subschema(at, "not");
            rules.condition = optional_subschema(at, "if");
            rules.consequence = optional_subschema(at, "then");
            rules.alternative = optional_subschema(at, "else");
        }
        if (at.resource.vocabularies.unevaluated) {
            rules.unevaluated_items = optional_subschema(at, "unevaluatedItems");
            rules.unevaluated_properties = optional_subschema(at, "unevaluatedProperties");
        }
    }
    read_references(at, rules);
    const bool any = rules.reference != kNone || rules.dynamic || !rules.all_of.empty() ||
                     !rules.any_of.empty() || !rules.one_of.empty() || rules.none_of != kNone ||
                     rules.condition != kNone || rules.unevaluated_items != kNone ||
                     rules.unevaluated_properties != kNone;
    if (any) at.node.in_place = keep(program_->in_place, std::move(rules));
}

// Any resource that the program enters may be in the dynamic scope, so its anchors become nodes
// too. Returns whether that brought new nodes, which are still to be read.
bool SchemaCompiler::close_dynamic_references() {
    const std::size_t before = program_->nodes.size();
    std::set<ResourceId> entered;
    for (const SchemaPlace& place : places_) entered.insert(place.resource);
    for (InPlaceRules& rules : program_->in_place) {
        if (!rules.dynamic) continue;
        rules.dynamic->targets.clear();
        spend(entered.size() * sizeof(std::pair<std::uint32_t, NodeId>));
        if (error_) return false;
        for (const ResourceId resource : entered) {
            const auto& anchors = resources_.resource(resource).dynamic_anchors;
            const auto anchor = anchors.find(rules.dynamic->anchor);
            if (anchor != anchors.end())
                rules.dynamic->targets.emplace_back(resource,
                                                    node_for(resources_.place_of(anchor->second)));
        }
    }
    return program_->nodes.size() > before;
}

}  // namespace crab::json
