#include "config/load.hpp"
#include "gateway/gateway.hpp"
#include "gateway/operator/config_changes.hpp"
#include "json/value.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::gateway {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Every key of the schema that holds a value, as a path: `policy[].call.allow`.
class Leaves {
public:
    explicit Leaves(const json::Value& schema) : schema_(schema) { walk(schema, {}); }
    const std::vector<std::string>& paths() const { return paths_; }

private:
    const json::Value& target_of(const json::Value& node) const {
        const json::Value* reference = node.find("$ref");
        if (reference == nullptr) return node;
        const json::Value* target = schema_.resolve(reference->as_string()->substr(1));
        return target == nullptr ? node : target_of(*target);
    }
    void walk(const json::Value& node, const std::string& path) {
        const json::Value& here = target_of(node);
        if (const json::Value* members = here.find("properties")) {
            for (const auto& [name, member] : *members->as_object())
                walk(member, path.empty() ? name : path + "." + name);
        } else if (const json::Value* items = here.find("items");
                   items != nullptr && target_of(*items).find("properties") != nullptr) {
            walk(*items, path + "[]");
        } else {
            paths_.push_back(path);
        }
    }

    const json::Value& schema_;
    std::vector<std::string> paths_;
};

bool covers(std::string_view key, std::string_view path) {
    if (!path.starts_with(key)) return false;
    return path.size() == key.size() || path[key.size()] == '.' || path[key.size()] == '[';
}

TEST(ConfigKeys, EveryKeyOfTheSchemaIsReadByOneComponent) {
    const auto schema = json::Value::parse(config::schema_text());
    ASSERT_TRUE(schema);
    const std::vector<ConfigKey> keys = Gateway::config_keys();
    const Leaves leaves(*schema);
    ASSERT_GT(leaves.paths().size(), 200u);
    for (const std::string& path : leaves.paths()) {
        const auto readers = std::ranges::count_if(
            keys, [&](const ConfigKey& key) { return covers(key.name, path); });
        EXPECT_EQ(readers, 1) << path;
    }
}

TEST(ConfigKeys, NoComponentDeclaresWhatTheSchemaDoesNotHave) {
    const auto schema = json::Value::parse(config::schema_text());
    ASSERT_TRUE(schema);
    const Leaves leaves(*schema);
    for (const ConfigKey& key : Gateway::config_keys()) {
        EXPECT_TRUE(std::ranges::any_of(leaves.paths(), [&](const std::string& path) {
            return covers(key.name, path);
        })) << key.name;
    }
}

TEST(ConfigKeys, AChangeIsToldByWhenItCounts) {
    const std::vector<ConfigKey> keys = Gateway::config_keys();
    config::GatewayConfig before, after;
    EXPECT_THAT(config_changes(keys, before, after).now, IsEmpty());
    after.gateway.log.level = log::Level::kDebug;
    after.limits.tool_name = 7;
    after.limits.request_body_bytes = 7;
    after.built_in_hosts.memory = true;
    const ConfigChanges changes = config_changes(keys, before, after);
    EXPECT_THAT(changes.now, ElementsAre("gateway.log", "limits.tool_name"));
    EXPECT_THAT(changes.at_next_start, ElementsAre("built_in_hosts", "limits.request_body_bytes"));
}

}  // namespace
}  // namespace crab::gateway
