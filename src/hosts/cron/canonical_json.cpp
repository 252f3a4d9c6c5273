#include "hosts/cron/canonical_json.hpp"

#include <algorithm>

namespace crab::cron {
namespace {

/// The value with the members of all objects in order; as deep as the parser allows.
json::Value sorted(const json::Value& value) {
    if (const auto* items = value.as_array()) {
        json::Value result = json::Value::array();
        for (const json::Value& item : *items) result.push_back(sorted(item));
        return result;
    }
    if (const auto* members = value.as_object()) {
        json::Value::Members copies;
        for (const auto& [name, member] : *members) copies.emplace_back(name, sorted(member));
        std::ranges::sort(copies, {}, &json::Value::Member::first);
        json::Value result = json::Value::object();
        *result.as_object() = std::move(copies);
        return result;
    }
    if (const auto whole = value.as_int64()) return *whole;
    return value;
}

}  // namespace

std::string canonical_json(const json::Value& value) { return sorted(value).dump(); }

}  // namespace crab::cron
