#include "adapters/mcp/upstreams/tool_reading.hpp"

#include "json/parser.hpp"
#include "json/raw_parts.hpp"
#include "json/schema/schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ToolReading read(std::vector<std::string> entries, const ToolRules& rules = {},
                 ParamHeaders headers = ParamHeaders::kNone) {
    return read_tools(entries, rules, headers);
}
/// A tool named `t` with these members.
std::string entry(const std::string& members) {
    return std::string(R"({"name":"t","inputSchema":{"type":"object"})") +
           (members.empty() ? "" : ",") + members + "}";
}
const core::ToolSpec& only(const ToolReading& reading) {
    EXPECT_EQ(reading.tools.size(), 1U);
    EXPECT_TRUE(reading.left_out.empty());
    return reading.tools.at(0).tool->spec;
}

TEST(McpToolReading, SchemasPassByteForByte) {
    const std::string schema =
        R"({ "type":"object", "$schema":"https://json-schema.org/draft/2020-12/schema",)"
        R"("$defs":{"a":{"$anchor":"x","x-own":[1.50]}},"allOf":[{"$ref":"#x"}] })";
    const auto reading =
        read({R"({"name":"t","inputSchema":)" + schema + R"(,"outputSchema":)" + schema + "}"});
    EXPECT_EQ(only(reading).input_schema, schema);
    EXPECT_EQ(only(reading).output_schema, schema);
    EXPECT_EQ(reading.tools[0].tool->output, nullptr) << "the core sees the object around it";
    EXPECT_NE(reading.tools[0].facts.output, nullptr);
}

TEST(McpToolReading, AMissingTypeIsAddedAndAnotherRootLeavesOnlyItsToolOut) {
    const auto reading = read({R"({"name":"a","inputSchema":{"properties":{}}})",
                               R"({"name":"b","inputSchema":{"type":"array"}})",
                               R"({"name":"c","inputSchema":{"type":"object","items":7}})",
                               R"({"name":"d"})", R"({"inputSchema":{"type":"object"}})"});
    ASSERT_EQ(reading.tools.size(), 1U);
    EXPECT_EQ(reading.tools[0].tool->spec.input_schema, R"({"type":"object","properties":{}})");
    ASSERT_EQ(reading.left_out.size(), 4U);
    EXPECT_EQ(reading.left_out[0].name, "b");
    EXPECT_EQ(reading.left_out[1].name, "c");
    EXPECT_THAT(reading.left_out[1].reason, HasSubstr("does not compile"));
    EXPECT_EQ(reading.left_out[3].reason, "it has no name");
}

TEST(McpToolReading, TupleItemsCompileAsDraftSevenAndStayAsTheyAre) {
    const std::string schema =
        R"({"type":"object","properties":{"p":{"items":[{"type":"integer"},{"type":"string"}]}}})";
    const auto reading = read({R"({"name":"t","inputSchema":)" + schema + "}"});
    EXPECT_EQ(only(reading).input_schema, schema);
    json::Parser parser;
    const json::Schema& compiled = *reading.tools[0].tool->input;
    EXPECT_TRUE(compiled.is_valid(parser.parse(R"({"p":[1,"x"]})").value().element()));
    EXPECT_FALSE(compiled.is_valid(parser.parse(R"({"p":["x"]})").value().element()));
}

TEST(McpToolReading, IconsAreOfTheWebOrSmall) {
    const auto reading = read(
        {entry(R"("icons":[{"src":"https://a/i.png"},{"src":"http://a/i"},{"src":"javascript:x"},)"
               R"({"src":"file:///i"},{"src":"data:image/png;base64,AA=="},{"src":"data:,)" +
               std::string(64 << 10, 'x') + R"("},{"type":"none"}])")});
    EXPECT_EQ(only(reading).front_members,
              R"({"icons":[{"src":"https://a/i.png"},{"src":"data:image/png;base64,AA=="}]})");
    EXPECT_EQ(only(read({entry(R"("icons":[{"src":"http://a/i"}])")})).front_members, "");
}

TEST(McpToolReading, ASchemaHasASize) {
    const auto reading = read({entry(R"("outputSchema":{"type":"object","x":")" +
                                     std::string(std::size_t{1} << 20, 'x') + "\"}")});
    EXPECT_TRUE(reading.tools.empty());
    EXPECT_THAT(reading.left_out.at(0).reason, HasSubstr("larger than 1 MiB"));
}

TEST(McpToolReading, ANetworkReferenceIsNotFetched) {
    const auto reading =
        read({R"({"name":"t","inputSchema":{"type":"object","$ref":"https://example.com/s"}})"});
    ASSERT_EQ(reading.left_out.size(), 1U);
    EXPECT_TRUE(reading.tools.empty());
}

TEST(McpToolReading, NamesAreRegisteredInTheirFormAndKeptForTheUpstream) {
    const auto reading = read({R"({"name":"a/b","inputSchema":{"type":"object"}})",
                               R"({"name":"plain","inputSchema":{"type":"object"}})",
                               R"({"name":"plain","inputSchema":{"type":"object"}})"});
    ASSERT_EQ(reading.tools.size(), 2U);
    EXPECT_THAT(reading.tools[0].tool->spec.name, testing::StartsWith("a_b_"));
    EXPECT_EQ(reading.tools[0].facts.name, "a/b");
    EXPECT_THAT(reading.left_out, ElementsAre(SkippedEntry{"plain",
                                                           "another one before it has its "
                                                           "name"}));
}

TEST(McpToolReading, ANameOfAMethodsToolIsNotTakenFromIt) {
    const auto reading = read({R"({"name":"complete","inputSchema":{"type":"object"}})",
                               R"({"name":"resources.read","inputSchema":{"type":"object"}})",
                               R"({"name":"prompts.get","inputSchema":{"type":"object"}})"});
    ASSERT_EQ(reading.tools.size(), 3U);
    EXPECT_THAT(reading.tools[0].tool->spec.name, testing::MatchesRegex("complete_[0-9a-f]{8}"));
    EXPECT_EQ(reading.tools[0].facts.name, "complete") << "the upstream's own";
    EXPECT_THAT(reading.tools[1].tool->spec.name, testing::StartsWith("resources.read_"));
    EXPECT_THAT(reading.tools[2].tool->spec.name, testing::StartsWith("prompts.get_"));
}

TEST(McpToolReading, AnEntryWithTwoMembersOfANameAtAnyDepthIsLeftOutAlone) {
    const auto reading = read({entry(R"("description":"short","description":"other")"),
                               entry(R"("_meta":{"a":[{"x":1,"x":2}]})"),
                               R"({"name":"good","inputSchema":{"type":"object"}})"});
    ASSERT_EQ(reading.tools.size(), 1U);
    EXPECT_EQ(reading.tools[0].facts.name, "good");
    ASSERT_EQ(reading.left_out.size(), 2U);
    EXPECT_EQ(reading.left_out[0].reason, "it has two members /description");
    EXPECT_EQ(reading.left_out[1].reason, "it has two members /_meta/a/0/x");
}

TEST(McpToolReading, HeaderDeclarationsCountOverHttpOnly) {
    const std::string good = R"({"name":"g","inputSchema":{"type":"object","properties":)"
                             R"({"r":{"type":"string","x-mcp-header":"Region"}}}})";
    const std::string bad = R"({"name":"b","inputSchema":{"type":"object","properties":)"
                            R"({"r":{"type":"number","x-mcp-header":"Region"}}}})";
    const auto http = read({good, bad}, {}, ParamHeaders::kSent);
    ASSERT_EQ(http.tools.size(), 1U);
    EXPECT_EQ(http.tools[0].facts.params.at(0).name, "Region");
    EXPECT_EQ(http.left_out.at(0).name, "b");
    const auto stdio = read({good, bad});
    EXPECT_EQ(stdio.tools.size(), 2U);
    EXPECT_TRUE(stdio.tools[0].facts.params.empty());
}

TEST(McpToolReading, HintsAreClaimsUnlessTheyAreTrusted) {
    const std::string safe = entry(R"("annotations":{"readOnlyHint":true})");
    const auto untrusted = read({safe});
    EXPECT_EQ(only(untrusted).effects(), core::Effects::kUnknown);
    EXPECT_FALSE(only(untrusted).idempotent);
    EXPECT_EQ(only(untrusted).annotations.read_only, true);
    const ToolRules trusting{.trust_annotations = true};
    const auto trusted = read({safe}, trusting);
    EXPECT_EQ(only(trusted).effects(), core::Effects::kNone);
    EXPECT_TRUE(only(trusted).idempotent);
    const auto silent = read({entry("")}, trusting);
    EXPECT_EQ(only(silent).effects(), core::Effects::kDeclared);
    EXPECT_FALSE(only(silent).idempotent);
    const auto repeatable = read({entry(R"("annotations":{"idempotentHint":true})")}, trusting);
    EXPECT_TRUE(only(repeatable).idempotent);
}

TEST(McpToolReading, TheOperatorsWordOnAToolOverrulesItsClaims) {
    ToolRules rules{.trust_annotations = true};
    rules.overrides["t"] = {.side_effects = true, .idempotent = false, .timeout = Milliseconds(7)};
    const auto reading = read({entry(R"("annotations":{"readOnlyHint":true})")}, rules);
    EXPECT_EQ(only(reading).effects(), core::Effects::kDeclared);
    EXPECT_FALSE(only(reading).idempotent);
    EXPECT_EQ(only(reading).default_timeout, Milliseconds(7));
    EXPECT_EQ(only(reading).max_timeout, Milliseconds(600'000));
}

TEST(McpToolReading, GlobsChooseToolsByTheirOwnNames) {
    ToolRules rules;
    rules.allow = {"get_*", "a/*"};
    rules.deny = {"*_secret"};
    const auto reading = read({R"({"name":"get_x","inputSchema":{"type":"object"}})",
                               R"({"name":"get_secret","inputSchema":{"type":"object"}})",
                               R"({"name":"put_x","inputSchema":{"type":"object"}})",
                               R"({"name":"a/b","inputSchema":{"type":"object"}})"},
                              rules);
    EXPECT_EQ(reading.tools.size(), 2U);
    EXPECT_TRUE(reading.left_out.empty()) << "that is as configured";
}

TEST(McpToolReading, WhatNobodySeesIsTakenOutOfDescriptionsAndLongOnesLeaveTheirToolOut) {
    const auto reading = read({entry("\"title\":\"T\u202Eitle\",\"description\":\"a\u200Bb\"")});
    EXPECT_EQ(only(reading).title, "Title");
    EXPECT_EQ(only(reading).description, "ab");
    EXPECT_EQ(reading.removed, 2U);
    const auto longer = read({entry("\"description\":\"" + std::string(8193, 'x') + "\"")});
    EXPECT_EQ(longer.left_out.at(0).reason, "its description is longer than 8 KiB");
}

TEST(McpToolReading, MembersForMcpClientsOnlyAreKeptBesideTheSpec) {
    const auto reading = read({entry(
        R"("icons":[{"src":"http://a/b.png"},{"src":"https://a/b.png"}],"_meta":{"x/y":1},)"
        R"("execution":{"taskSupport":"required"},"annotations":{"title":"Alt"},"own":[2])")});
    const std::string& members = only(reading).front_members;
    EXPECT_EQ(json::find_raw(members, "icons"), R"([{"src":"https://a/b.png"}])");
    EXPECT_EQ(json::find_raw(members, "_meta"), R"({"x/y":1})");
    EXPECT_EQ(json::find_raw(members, "own"), "[2]");
    EXPECT_FALSE(json::find_raw(members, "execution"));
    EXPECT_FALSE(json::find_raw(members, "inputSchema"));
    EXPECT_EQ(only(reading).title, "Alt");
}

TEST(McpToolReading, WhatIsPinnedIsTheSameInAnyOrderAndDiffersWithEachPart) {
    const auto pinned = [](const std::string& text) { return read({text}).tools.at(0).pinned; };
    const std::string one =
        pinned(entry(R"("description":"d","annotations":{"openWorldHint":true})"));
    EXPECT_EQ(one, pinned(R"({"annotations":{"openWorldHint":true},"description":"d","_meta":{},)"
                          R"("inputSchema":{"type":"object"},"name":"t"})"));
    EXPECT_NE(one, pinned(entry(R"("description":"e","annotations":{"openWorldHint":true})")));
    EXPECT_NE(one, pinned(entry(R"("description":"d","annotations":{"openWorldHint":false})")));
    EXPECT_NE(one, pinned(entry(R"("description":"d")")));
}

}  // namespace
}  // namespace crab::mcp
