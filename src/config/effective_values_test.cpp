#include "config/effective_values.hpp"

#include "config/load.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace crab::config {
namespace {

Environment environment() {
    return [](std::string_view name) -> std::optional<std::string> {
        if (name == "TOKEN") return "the-secret-of-the-environment";
        return std::nullopt;
    };
}

std::vector<EffectiveValue> values_of(std::string_view text) {
    const json::Value schema = json::Value::parse(schema_text()).value();
    const auto config = load_text(text, "gateway.yaml", environment());
    EXPECT_TRUE(config) << (config ? "" : config.error().message);
    return effective_values(schema, config ? config->origin : ConfigOrigin());
}

const EffectiveValue* find(const std::vector<EffectiveValue>& all, std::string_view key) {
    const auto found = std::ranges::find(all, key, &EffectiveValue::key);
    return found == all.end() ? nullptr : &*found;
}

TEST(EffectiveValues, TellsWhatTheFileHasWithItsLineAndElseTheDefault) {
    const auto all = values_of(
        "listen:\n  path_prefix: /home\npolicy:\n  - principal: caller/*\n    call: {deny: "
        "[door]}\n");
    const EffectiveValue* prefix = find(all, "listen.path_prefix");
    ASSERT_NE(prefix, nullptr);
    EXPECT_EQ(prefix->value, json::Value("/home"));
    EXPECT_EQ(prefix->standard, json::Value(""));
    EXPECT_EQ(prefix->line, 2);
    const EffectiveValue* address = find(all, "listen.public");
    ASSERT_NE(address, nullptr);
    EXPECT_EQ(address->value, address->standard);
    EXPECT_EQ(address->line, 0);
    const EffectiveValue* deny = find(all, "policy[0].call.deny");
    ASSERT_NE(deny, nullptr);
    EXPECT_EQ(deny->value.dump(), R"(["door"])");
    EXPECT_EQ(deny->line, 5);
}

TEST(EffectiveValues, WithoutAFileAllAreDefaults) {
    const auto all = effective_values(json::Value::parse(schema_text()).value(), {});
    EXPECT_GT(all.size(), 50u);
    for (const EffectiveValue& each : all) {
        EXPECT_EQ(each.value, each.standard) << each.key;
        EXPECT_EQ(each.line, 0) << each.key;
    }
}

TEST(EffectiveValues, ShowsNoSecret) {
    const auto all = values_of(R"(
mcp:
  servers:
    notes:
      url: https://notes.example/mcp
      auth:
        headers: {Authorization: Bearer the-secret-in-a-header}
    code:
      command: /bin/true
      args: [--token, the-secret-in-an-argument]
      env: {API_KEY: the-secret-in-a-variable, OTHER: "${TOKEN}"}
    login:
      url: https://login.example/mcp
      auth:
        client_credentials:
          issuer: https://login.example
          client_id: crab
          client_secret: the-secret-of-a-client
models:
  - {model: parrot, url: "https://ann:the-secret-in-an-address@models.example/v1"}
agent:
  instructions: "told ${TOKEN}"
)");
    std::string shown;
    for (const EffectiveValue& each : all) {
        shown += each.key + "=" + each.value.dump() + "\n";
        if (each.secret) EXPECT_TRUE(each.value.is_null()) << each.key;
    }
    EXPECT_FALSE(shown.contains("the-secret")) << shown;
    for (const char* key : {"mcp.servers.notes.auth.headers.Authorization", "mcp.servers.code.args",
                            "mcp.servers.code.env.API_KEY",
                            "mcp.servers.login.auth.client_credentials.client_secret"}) {
        const EffectiveValue* secret = find(all, key);
        ASSERT_NE(secret, nullptr) << key << "\n" << shown;
        EXPECT_TRUE(secret->secret) << key;
        EXPECT_GT(secret->line, 0) << key;
    }
    EXPECT_EQ(find(all, "models[0].url")->value, json::Value("https://…@models.example/v1"));
    EXPECT_EQ(find(all, "agent.instructions")->value, json::Value("told ${TOKEN}"));
}

}  // namespace
}  // namespace crab::config
