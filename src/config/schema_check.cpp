#include "config/schema_check.hpp"

#include "base/closest_name.hpp"
#include "json/pointer.hpp"
#include "json/schema/schema.hpp"

#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::config {
namespace {

bool has_type(const json::Value& value, std::string_view type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.as_string() != nullptr;
    if (type == "boolean") return value.as_bool() != nullptr;
    if (type == "integer") return value.as_int64().has_value();
    return value.is_number();
}

std::string_view words_for(std::string_view type) {
    if (type == "object") return "has to be a mapping (key: value)";
    if (type == "array") return "has to be a list (- item)";
    if (type == "string") return "has to be a string; put it in quotes";
    if (type == "boolean") return "has to be true or false";
    if (type == "integer") return "has to be a whole number";
    return "has to be a number";
}

/// ` (did you mean "name"?)`, or nothing when no candidate is near.
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
    const std::string_view near = closest_name(name, candidates);
    return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

/// The validator quotes values, which may be secrets; the rule is enough.
std::string words_for(const json::Value& schema, const json::SchemaViolation& violation) {
    const json::Value* bound = schema.resolve(violation.schema_pointer);
    const std::string limit = !bound               ? ""
                              : bound->as_string() ? *bound->as_string()
                                                   : bound->dump();
    // A pattern is for the validator; people get what it stands for, by an example.
    if (violation.rule == "pattern") {
        const json::Value* holder =
            schema.resolve(violation.schema_pointer.substr(0, violation.schema_pointer.rfind('/')));
        const json::Value* form = holder ? holder->find("x-form") : nullptr;
        return "has to be " +
               (form && form->as_string()
                    ? *form->as_string()
                    : std::string("written another way; see docs/reference/configuration.md"));
    }
    if (violation.rule == "minItems")
        return fmt::format("needs at least {}", limit == "1" ? "one entry" : limit + " entries");
    if (violation.rule == "maxItems") return fmt::format("may have at most {} entries", limit);
    if (violation.rule == "minLength" && limit == "1") return "may not be empty";
    if (violation.rule == "minimum") return "has to be at least " + limit;
    if (violation.rule == "exclusiveMinimum") return "has to be more than " + limit;
    if (violation.rule == "maximum") return "has to be at most " + limit;
    if (violation.rule == "minLength")
        return fmt::format("is too short: at least {} characters", limit);
    if (violation.rule == "maxLength")
        return fmt::format("is too long: at most {} characters", limit);
    return fmt::format("breaks the rule {} {}", violation.rule, limit);
}

class Check {
public:
    Check(YamlDocument& document, const std::set<std::string, std::less<>>& references,
          Problems& problems)
        : document_(document), references_(references), problems_(problems) {}

    void visit(const json::Value& schema, json::Value& value, const std::string& pointer) {
        if (const json::Value* type = schema.find("type"); type && type->as_string()) {
            settle_reference(value, *type->as_string(), pointer);
            if (!has_type(value, *type->as_string()))
                return problem(pointer, std::string(words_for(*type->as_string())));
        }
        if (const json::Value* choices = schema.find("enum"))
            check_choice(*choices, value, pointer);
        if (auto* items = value.as_array()) {
            const json::Value* item_schema = schema.find("items");
            for (std::size_t i = 0; item_schema && i < items->size(); ++i)
                visit(*item_schema, (*items)[i], fmt::format("{}/{}", pointer, i));
        }
        if (value.is_object()) check_members(schema, value, pointer);
    }

private:
    void settle_reference(json::Value& value, std::string_view type, const std::string& pointer) {
        if (has_type(value, type) || !value.as_string() || !references_.contains(pointer)) return;
        const std::optional<json::Value> meant = resolve_core_scalar(*value.as_string());
        if (meant && has_type(*meant, type)) value = *meant;
    }

    void check_choice(const json::Value& choices, const json::Value& value,
                      const std::string& pointer) {
        std::vector<std::string> names;
        for (const json::Value& choice : *choices.as_array()) {
            if (choice == value) return;
            if (choice.as_string()) names.push_back(*choice.as_string());
        }
        const std::string near = value.as_string() ? suggestion(*value.as_string(), names) : "";
        problem(pointer, fmt::format("has to be one of {}{}", fmt::join(names, ", "), near));
    }

    void check_members(const json::Value& schema, json::Value& value, const std::string& pointer) {
        const json::Value* properties = schema.find("properties");
        const json::Value* entry = schema.find("additionalProperties");
        const bool has_own = entry && entry->is_object();  // keys of the operator's
        if (!properties && has_own) {
            for (auto& [name, member] : *value.as_object())
                visit(*entry, member, pointer + "/" + json::escape_pointer(name));
        }
        if (!properties) return;
        std::vector<std::string> names;
        for (const auto& [name, _] : *properties->as_object()) names.push_back(name);
        for (auto& [name, member] : *value.as_object()) {
            const std::string at = pointer + "/" + json::escape_pointer(name);
            if (const json::Value* known = properties->find(name)) {
                visit(*known, member, at);
            } else if (has_own) {
                visit(*entry, member, at);
            } else {
                problem(at, "unknown key" + suggestion(name, names));
            }
        }
        const json::Value* required = schema.find("required");
        if (!required) return;
        for (const json::Value& name : *required->as_array()) {
            if (!value.find(*name.as_string()))
                problem(pointer, fmt::format("needs the key {}", *name.as_string()));
        }
    }

    void problem(const std::string& pointer, std::string message) {
        problems_.push_back({document_.line_of(pointer), pointer, std::move(message)});
    }

    YamlDocument& document_;
    const std::set<std::string, std::less<>>& references_;
    Problems& problems_;
};

}  // namespace

void check_keys_and_types(const json::Value& schema, YamlDocument& document,
                          const std::set<std::string, std::less<>>& references,
                          Problems& problems) {
    Check(document, references, problems).visit(schema, document.value, "");
}

void check_schema(const json::Value& schema, const YamlDocument& document, Problems& problems) {
    const auto compiled = json::Schema::compile(schema.dump());
    if (!compiled)
        throw std::logic_error("the configuration's schema: " + compiled.error().message);
    json::Parser parser;
    const std::string text = document.value.dump();
    const auto root = parser.parse(text);
    if (!root) return problems.push_back({0, "", root.error().message});
    for (const json::SchemaViolation& violation : (*compiled)->validate(root->element(), 200)) {
        // Those two have better words above, some at the place around.
        if (violation.rule == "additionalProperties" || violation.rule == "required") continue;
        if (has_problem_at(problems, violation.instance_pointer)) continue;
        problems.push_back({document.line_of(violation.instance_pointer),
                            violation.instance_pointer, words_for(schema, violation)});
    }
}

}  // namespace crab::config
