#include "config/effective_values.hpp"

#include "config/problems.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace crab::config {
namespace {

constexpr std::size_t kMostEntries = 20'000;

std::string pointer_to(const std::string& parent, std::string_view name) {
    std::string pointer = parent + "/";
    for (const char c : name) {
        if (c == '~')
            pointer += "~0";
        else if (c == '/')
            pointer += "~1";
        else
            pointer += c;
    }
    return pointer;
}

/// Without the name and password in `scheme://name:password@host`.
json::Value without_user(const json::Value& value) {
    const std::string* const text = value.as_string();
    if (text == nullptr) return value;
    const std::size_t scheme = text->find("://");
    const std::size_t host = scheme == text->npos ? text->npos : scheme + 3;
    const std::size_t end = text->find_first_of("/?#", host);
    const std::size_t at = text->substr(0, end).rfind('@');
    if (host == text->npos || at == text->npos || at < host) return value;
    return json::Value(text->substr(0, host) + "…" + text->substr(at));
}

bool is_secret(const json::Value& schema) {
    const json::Value* const mark = schema.find("writeOnly");
    return mark != nullptr && mark->as_bool() != nullptr && *mark->as_bool();
}

class Walk {
public:
    Walk(const json::Value& schema, const ConfigOrigin& origin) : root_(schema), origin_(origin) {}

    std::vector<EffectiveValue> all() && {
        visit(root_, origin_.value(), {}, false);
        return std::move(found_);
    }

private:
    const json::Value& target_of(const json::Value& schema) const {
        const std::string* const reference = schema.find_string("$ref");
        const json::Value* const target =
            reference != nullptr && reference->starts_with('#')
                ? root_.resolve(std::string_view(*reference).substr(1))
                : nullptr;
        return target == nullptr ? schema : *target;
    }

    /// `value` is null where the file does not have it.
    void visit(const json::Value& given, const json::Value* value, const std::string& pointer,
               bool secret) {
        if (found_.size() >= kMostEntries) return;
        const json::Value& schema = target_of(given);
        secret = secret || is_secret(given) || is_secret(schema);
        const json::Value* const members = schema.find("properties");
        const json::Value* const others = schema.find("additionalProperties");
        const bool has_others = others != nullptr && others->is_object();
        if (members != nullptr && (value == nullptr || value->is_object())) {
            for (const auto& [name, member] : *members->as_object())
                visit(member, value == nullptr ? nullptr : value->find(name),
                      pointer_to(pointer, name), secret);
        }
        if (has_others && value != nullptr && value->is_object()) {
            for (const auto& [name, member] : *value->as_object())
                if (members == nullptr || members->find(name) == nullptr)
                    visit(*others, &member, pointer_to(pointer, name), secret);
            return;
        }
        if (members != nullptr && (value == nullptr || value->is_object())) return;
        const json::Value* const items = schema.find("items");
        if (items != nullptr && target_of(*items).find("properties") != nullptr &&
            value != nullptr && value->is_array()) {
            for (std::size_t i = 0; i < value->as_array()->size(); ++i)
                visit(*items, &(*value->as_array())[i], fmt::format("{}/{}", pointer, i), secret);
            return;
        }
        add(schema, value, pointer, secret || (items != nullptr && is_secret(*items)));
    }

    void add(const json::Value& schema, const json::Value* value, const std::string& pointer,
             bool secret) {
        const json::Value* const standard = schema.find("default");
        if (value == nullptr && standard == nullptr) return;
        EffectiveValue& one = found_.emplace_back();
        one.key = key_path(pointer);
        if (standard != nullptr) one.standard = *standard;
        if (value != nullptr) one.line = origin_.line_of(pointer);
        one.content = json::hash_of(value != nullptr ? *value : *standard);
        one.secret = secret;
        if (!secret) one.value = value != nullptr ? without_user(*value) : *standard;
    }

    const json::Value& root_;
    const ConfigOrigin& origin_;
    std::vector<EffectiveValue> found_;
};

}  // namespace

std::vector<EffectiveValue> effective_values(const json::Value& schema,
                                             const ConfigOrigin& origin) {
    return Walk(schema, origin).all();
}

}  // namespace crab::config
