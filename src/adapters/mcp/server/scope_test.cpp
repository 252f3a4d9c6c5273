#include "adapters/mcp/server/scope.hpp"

#include "adapters/mcp/server/test_support.hpp"
#include "json/raw_parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Scope scope(std::string name, std::vector<Glob> allow, std::vector<Glob> deny = {}) {
    Scope made;
    made.name = std::move(name);
    made.tools = core::ToolScope(std::move(allow), std::move(deny));
    return made;
}

struct McpScope : test::ServerTest {
    static ServerOptions with_scopes() {
        ServerOptions options = quiet();
        options.whole.instructions = "all of it";
        Scope few = scope("few", {Glob("e*"), Glob("library__*")}, {Glob("eager")});
        few.prefix = Prefix::kAlways;
        few.renamed["echo"] = "say";
        few.instructions = "a few";
        Scope tight = scope("tight", {Glob("t?"), Glob("pinned")});
        tight.most_tools = 5;
        tight.pinned = {Glob("pinned")};
        Scope roomy = scope("roomy", {Glob("t?")});
        roomy.most_tokens = 1;  // exceeded, but a search would cost more
        options.scopes = {few, tight, roomy, scope("plain", {})};
        return options;
    }
    McpScope() : ServerTest(with_scopes()) {}
    std::vector<std::string> names() {
        const std::string body = modern("tools/list").body;
        const auto result = json::find_raw(body, "result").value_or("");
        std::vector<std::string> found;
        for (json::RawParts tools(json::find_raw(result, "tools").value_or("")); tools.next();)
            found.push_back(json::find_raw_string(tools.value(), "name").value_or("?"));
        return found;
    }
    std::string call(std::string_view name, std::string_view arguments = "{}") {
        return modern("tools/call", fmt::format(R"("name":"{}","arguments":{})", name, arguments),
                      name)
            .body;
    }
};

TEST_F(McpScope, ShowsItsToolsUnderItsNamesAndNoOthersCanBeCalled) {
    gate->open = true;
    offer("eel", gate);
    offer("eager", gate);
    EXPECT_THAT(names(), ElementsAre("eager", "echo", "eel", "gate"));
    path = "/mcp/few";
    EXPECT_THAT(names(), ElementsAre("phone__eel", "say"));
    for (const char* const name : {"say", "echo", "phone__echo"})
        EXPECT_THAT(call(name, R"({"a":1})"), HasSubstr("echo {")) << name;
    for (const char* const name : {"gate", "phone__gate", "eager"})
        EXPECT_THAT(call(name), HasSubstr("-32602")) << name;
    EXPECT_EQ(gate->started, 0);
    EXPECT_THAT(modern("server/discover").body, HasSubstr(R"("instructions":"a few")"));
    path = "/mcp/plain";
    EXPECT_THAT(names(), ElementsAre("eager", "echo", "eel", "gate"));
    EXPECT_THAT(modern("server/discover").body, Not(HasSubstr("instructions")));
    path = "/mcp/none";
    EXPECT_EQ(modern("tools/list").status, 404);
    EXPECT_EQ(ask("GET", "").status, 404);
}

TEST_F(McpScope, AToolWhoseSourceHasNotListedItYetIsNotSaidToBeNone) {
    registry.expect({.kind = core::SourceKind::kPeer, .name = "library"});
    path = "/mcp/few";
    for (const char* const name : {"library__find", "eel"})
        EXPECT_THAT(call(name), HasSubstr("library has not listed its tools")) << name;
    EXPECT_THAT(call("eager"), HasSubstr("-32602")) << "the scope leaves it out";
}

TEST_F(McpScope, HasTheResourcesOfWhoIsInIt) {
    for (const char* const source : {"library", "museum"}) {
        Catalog catalog;
        catalog.resources.push_back(
            {.key = fmt::format("{}://a", source),
             .json = fmt::format(R"({{"uri":"{}://a","name":"a"}})", source)});
        offer_source(source, std::move(catalog), [source](std::string_view, std::string_view) {
            return mcp_result(
                fmt::format(R"({{"contents":[{{"uri":"x","text":"of {}"}}]}})", source));
        });
    }
    EXPECT_THAT(modern("resources/list").body, HasSubstr("museum://a"));
    path = "/mcp/few";
    const std::string listed = modern("resources/list").body;
    EXPECT_THAT(listed, HasSubstr("library://a"));
    EXPECT_THAT(listed, Not(HasSubstr("museum://a")));
    EXPECT_THAT(modern("resources/read", R"("uri":"museum://a")", "museum://a").body,
                Not(HasSubstr("of museum")));
}

TEST_F(McpScope, ASessionIsOfTheScopeThatOpenedIt) {
    path = "/mcp/few";
    const std::string fields = open();
    EXPECT_EQ(post(fields, request(1, "tools/list")).status, 200);
    path = "/mcp";
    EXPECT_EQ(post(fields, request(2, "tools/list")).status, 404);
    EXPECT_EQ(ask("DELETE", fields).status, 404);
}

TEST_F(McpScope, WhatExceedsTheBudgetIsSearchedFor) {
    const std::string schema = fmt::format(
        R"({{"type":"object","properties":{{"q":{{"type":"string","description":"{}"}}}}}})",
        std::string(400, 'x'));
    for (char last = 'a'; last <= 'z'; ++last) offer(fmt::format("t{}", last), gate, schema);
    offer("pinned", gate);
    offer("find_tools", gate);
    gate->open = true;
    path = "/mcp/tight";
    EXPECT_THAT(names(), ElementsAre("call_tool", "find_tools", "pinned"));
    const std::string found = call("find_tools", R"({"query":"tm"})");
    EXPECT_THAT(found, HasSubstr(R"("structuredContent":{"found":[{"name":"tm")"));
    EXPECT_THAT(found, HasSubstr(R"("of":27)"));
    EXPECT_THAT(found, HasSubstr("xxxx"));
    EXPECT_THAT(call("call_tool", R"({"name":"tm","arguments":{"q":"a"}})"),
                HasSubstr("through the gate"));
    // what is not listed can be called as well: names that clients know stay good
    EXPECT_THAT(call("tm"), HasSubstr("through the gate"));
    EXPECT_THAT(call("call_tool", R"({"name":"tm","arguments":{"q":7}})"), HasSubstr("isError"));
    EXPECT_EQ(gate->started, 2);
    for (const char* const wrong : {R"({})", R"({"name":"echo"})", R"({"name":"call_tool"})",
                                    R"({"name":"tm","arguments":[]})"})
        EXPECT_THAT(call("call_tool", wrong), HasSubstr("-32602")) << wrong;
    EXPECT_THAT(call("find_tools"), HasSubstr("isError"));
    path = "/mcp";
    EXPECT_THAT(call("find_tools"), HasSubstr("through the gate"));
}

TEST_F(McpScope, PrincipalsThatSearchTakeTurnsAndHaveFewSearchesEach) {
    const std::string schema = fmt::format(R"({{"description":"{}"}})", std::string(400, 'x'));
    for (char last = 'a'; last <= 'z'; ++last) offer(fmt::format("t{}", last), gate, schema);
    path = "/mcp/tight";
    const auto search = [this](std::string_view who, std::string_view word) {
        const std::string asked =
            fmt::format(R"("name":"find_tools","arguments":{{"query":"{}"}})", word);
        return begin("POST",
                     fmt::format("Authorization: Bearer {}\r\n{}", who,
                                 modern_fields("tools/call", "find_tools")),
                     modern_body("tools/call", asked));
    };
    constexpr std::size_t kMost = 8;
    std::vector<std::unique_ptr<test::RawClient>> all;
    const auto flood = [&](std::string_view who, std::string_view word) {
        for (std::size_t i = 0; i < kMost; ++i) all.push_back(search(who, word));
        EXPECT_TRUE(
            until([&] { return state.searches.count(fmt::format("caller/{}", who)) == kMost; }));
        EXPECT_THAT(search(who, word)->read_response(), HasSubstr("RATE_LIMITED"));
    };
    index.hold(true);
    flood("ann", "ta");
    flood("bob", "tb");
    index.hold(false);
    for (const auto& each : all) EXPECT_THAT(each->read_response(), HasSubstr("inputSchema"));
    std::vector<std::string> turns;
    for (std::size_t i = 0; i < kMost; ++i) turns.insert(turns.end(), {"ta", "tb"});
    EXPECT_EQ(index.asked(), turns);
}

TEST_F(McpScope, ASearchThatWouldCostMoreIsNotOffered) {
    for (const char* const name : {"ta", "tb", "tc"}) offer(name, gate);
    path = "/mcp/roomy";
    EXPECT_THAT(names(), ElementsAre("ta", "tb", "tc"));
}

}  // namespace
}  // namespace crab::mcp
