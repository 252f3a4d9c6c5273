#include "adapters/mcp/wire/listed_object.hpp"

#include "json/value.hpp"

#include <gtest/gtest.h>

#include <array>

namespace crab::mcp {
namespace {

using enum Revision;

constexpr std::string_view kInput =
    R"({ "$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",)"
    R"("$defs":{"a":1.0},"x":[ ]})";

std::string tool(const ListedTool& given, Revision revision) {
    std::string out;
    append_tool(out, given, revision);
    EXPECT_TRUE(json::Value::parse(out).has_value()) << out;
    return out;
}

TEST(McpListedObject, AToolHasTheMembersOfEachRevision) {
    const ListedTool given{.name = "t",
                           .title = "T",
                           .description = "d",
                           .input_schema = kInput,
                           .output_schema = R"({"type":"object"})",
                           .hints = {.read_only = true, .destructive = false},
                           .icons = R"([{"src":"https://a/b"}])",
                           .meta = R"({"a":1})"};
    const std::string head = R"("description":"d","inputSchema":)" + std::string(kInput);
    const std::string hints = R"("readOnlyHint":true,"destructiveHint":false,)"
                              R"("idempotentHint":false,"openWorldHint":true})";
    const std::string output = R"(,"outputSchema":{"type":"object"})";
    EXPECT_EQ(tool(given, k2024_11_05), R"({"name":"t",)" + head + "}");
    EXPECT_EQ(tool(given, k2025_03_26),
              R"({"name":"t",)" + head + R"(,"annotations":{"title":"T",)" + hints + "}");
    EXPECT_EQ(tool(given, k2025_06_18), R"({"name":"t","title":"T",)" + head + output +
                                            R"(,"annotations":{)" + hints + R"(,"_meta":{"a":1}})");
    const std::string newest = R"({"name":"t","title":"T",)" + head + output +
                               R"(,"annotations":{)" + hints +
                               R"(,"icons":[{"src":"https://a/b"}],"_meta":{"a":1}})";
    EXPECT_EQ(tool(given, k2025_11_25), newest);
    EXPECT_EQ(tool(given, k2026_07_28), newest);
}

TEST(McpListedObject, AnOutputSchemaWithAnotherRootIsForModernClients) {
    for (const std::string_view schema : {R"({"type":"array"})", R"({"anyOf":[{"type":"object"}]})",
                                          R"({"type":["object"]})", "true"}) {
        const ListedTool given{.name = "t", .input_schema = "{}", .output_schema = schema};
        EXPECT_FALSE(tool(given, k2025_11_25).contains("outputSchema")) << schema;
        EXPECT_TRUE(tool(given, k2026_07_28).contains(schema)) << schema;
    }
}

TEST(McpListedObject, WhatIsEmptyIsLeftOut) {
    EXPECT_EQ(tool({.name = "t", .input_schema = "{}"}, k2026_07_28),
              R"({"name":"t","inputSchema":{},"annotations":{"readOnlyHint":false,)"
              R"("destructiveHint":true,"idempotentHint":false,"openWorldHint":true}})");
}

TEST(McpListedObject, ResourcesAndPromptsLoseWhatARevisionLacks) {
    const auto listed = [](std::string_view object, Revision revision) {
        std::string out;
        append_listed_object(out, object, {}, revision);
        return out;
    };
    constexpr std::string_view kResource =
        R"({"uri":"a:b","name":"n","title":"T","size":3,"icons":[],"_meta":{},)"
        R"("annotations":{"priority":1,"lastModified":"x"},"vendor":{ "a":1}})";
    EXPECT_EQ(
        listed(kResource, k2024_11_05),
        R"({"uri":"a:b","name":"n","size":3,"annotations":{"priority":1},"vendor":{ "a":1}})");
    EXPECT_EQ(listed(kResource, k2025_06_18),
              R"({"uri":"a:b","name":"n","title":"T","size":3,"_meta":{},)"
              R"("annotations":{"priority":1,"lastModified":"x"},"vendor":{ "a":1}})");
    EXPECT_EQ(listed(kResource, k2025_11_25), kResource);
    constexpr std::string_view kPrompt =
        R"({"name":"p","arguments":[{"name":"a","title":"A","required":true},{"name":"b"}]})";
    EXPECT_EQ(listed(kPrompt, k2025_03_26),
              R"({"name":"p","arguments":[{"name":"a","required":true},{"name":"b"}]})");
    EXPECT_EQ(listed(kPrompt, k2026_07_28), kPrompt);
}

TEST(McpListedObject, MembersAreReplacedByTheGatewaysOwn) {
    const std::array<ReplacedMember, 2> replaced{
        {{.name = "name", .json = "\"src__n\""}, {.name = "title", .json = "\"T\""}}};
    std::string out, old;
    append_listed_object(out, R"({"name":"n","uri":"a:b"})", replaced, k2025_06_18);
    append_listed_object(old, R"({"name":"n","title":"x","uri":"a:b"})", replaced, k2024_11_05);
    EXPECT_EQ(out, R"({"name":"src__n","title":"T","uri":"a:b"})");
    EXPECT_EQ(old, R"({"name":"src__n","uri":"a:b"})");
}

TEST(McpListedObject, AnInputSchemaIsOfAnObjectOrItsToolIsLeftOut) {
    EXPECT_EQ(object_schema(kInput), kInput) << "byte for byte";
    EXPECT_EQ(object_schema("{}"), R"({"type":"object"})");
    EXPECT_EQ(object_schema("{ }"), R"({"type":"object" })");
    EXPECT_EQ(object_schema(R"({"properties":{"type":{}}})"),
              R"({"type":"object","properties":{"type":{}}})");
    for (const std::string_view schema : {R"({"type":"string"})", R"({"type":["object","null"]})",
                                          R"({"type":7})", "true", "[]", "null"})
        EXPECT_EQ(object_schema(schema), std::nullopt) << schema;
}

}  // namespace
}  // namespace crab::mcp
