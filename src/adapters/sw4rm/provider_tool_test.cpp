#include "adapters/sw4rm/provider_tool.hpp"

#include <gtest/gtest.h>

namespace crab::sw4rm {
namespace {

using namespace std::chrono_literals;

OfferedTool offered(std::string name, std::string schema = R"({"type":"object"})") {
    OfferedTool tool;
    tool.name = std::move(name);
    tool.input_schema = std::move(schema);
    return tool;
}

core::SchemaBudget budget;

TEST(ProviderToolTest, ADescriptorBecomesAToolWithinTheCeilings) {
    const OfferedTool said = offered_tool({.tool_name = "paint",
                                           .input_schema = "{}",
                                           .idempotent = true,
                                           .needs_worktree = true,
                                           .default_timeout_s = 900,
                                           .max_concurrency = 3,
                                           .side_effects = "network"});
    const auto tool = make_provider_tool(said, {.timeout = 10min, .max_retries = 1}, budget);
    ASSERT_TRUE(tool) << tool.error().message;
    const core::ToolSpec& spec = (*tool)->spec;
    EXPECT_EQ(spec.default_timeout, 10min);
    EXPECT_TRUE(spec.idempotent && spec.side_effects && spec.effects_known && spec.needs_worktree &&
                spec.streams);
    EXPECT_EQ(spec.max_concurrency, 3u);
    EXPECT_EQ((*tool)->limits->defaults.max_retries, 1u);
    EXPECT_TRUE((*tool)->limits->defaults.needs_worktree);
}

TEST(ProviderToolTest, WhatIsNotStatedIsNotClaimed) {
    const auto tool = make_provider_tool(offered_tool({.tool_name = "paint"}), {}, budget);
    ASSERT_TRUE(tool);
    EXPECT_FALSE((*tool)->spec.side_effects);
    EXPECT_TRUE((*tool)->spec.may_have_effects());
    EXPECT_EQ((*tool)->spec.default_timeout, 30s);
    EXPECT_FALSE((*tool)->spec.max_concurrency);
}

TEST(ProviderToolTest, NoneAsSideEffectsMeansNone) {
    const auto tool = make_provider_tool(
        offered_tool({.tool_name = "measure", .side_effects = "none"}), {}, budget);
    ASSERT_TRUE(tool);
    EXPECT_FALSE((*tool)->spec.may_have_effects());
}

TEST(ProviderToolTest, SchemasThatAreUrlsOrDoNotCompileAreRefusedByWhatIsWrong) {
    EXPECT_NE(make_provider_tool(offered("a", "https://example.org/a.json"), {}, budget)
                  .error()
                  .message.find("URL"),
              std::string::npos);
    EXPECT_NE(make_provider_tool(offered("a", R"({"type":7})"), {}, budget)
                  .error()
                  .message.find("schema"),
              std::string::npos);
    EXPECT_NE(make_provider_tool(offered("no name"), {}, budget).error().message.find("name"),
              std::string::npos);
}

TEST(ProviderToolTest, OfAListTheGoodOnesCountAndTheFirstOfEqualNames) {
    const core::ToolList made =
        make_provider_tools({offered("a"), offered("b", "https://x"), offered("a")}, {});
    ASSERT_EQ(made.tools.size(), 1u);
    ASSERT_EQ(made.dropped.size(), 2u);
    EXPECT_EQ(made.dropped[0].name, "b");
    EXPECT_NE(made.dropped[1].reason.find("another tool"), std::string::npos);
}

TEST(ProviderToolTest, ADeclaredToolIsReadFromTheConfiguration) {
    const auto item = json::Value::parse(
        R"({"name":"paint","description":"d","input_schema":{"type":"object"},"idempotent":true,)"
        R"("timeout_s":9,"side_effects":[]})");
    const OfferedTool tool = declared_tool(*item);
    EXPECT_EQ(tool.name, "paint");
    EXPECT_EQ(tool.description, "d");
    EXPECT_EQ(tool.default_timeout_s, 9u);
    EXPECT_TRUE(tool.idempotent && tool.effects_known && !tool.side_effects);
}

}  // namespace
}  // namespace crab::sw4rm
