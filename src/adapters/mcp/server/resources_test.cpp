#include "adapters/mcp/server/test_support.hpp"
#include "json/raw_parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using test::Answer;
using testing::HasSubstr;
using testing::Not;

/// Two sources with a URI and a prompt in common.
struct McpResources : test::ServerTest {
    McpResources() {
        const auto of = [this](std::string source) {
            return [this, source](std::string_view tool, std::string_view args) {
                return served(source, tool, args);
            };
        };
        Catalog docs{.resources = {{"x:both", R"({"uri":"x:both","name":"b"})"},
                                   {"x:docs", R"({"uri":"x:docs","name":"d","icons":[]})"}},
                     .templates = {{"x:page/{id}", R"({"uriTemplate":"x:page/{id}","name":"t"})"}},
                     .prompts = {{"hi", R"({"name":"hi"})"}, {"own one", R"({"name":"own one"})"}},
                     .completions = true};
        docs.instructions = "Read first.";
        Catalog wiki{.resources = {{"x:both", R"({"uri":"x:both","name":"b"})"}},
                     .templates = {{"x:page/{id}/v", R"({"uriTemplate":"x:page/{id}/v"})"},
                                   {"x:page/{n}", R"({"uriTemplate":"x:page/{n}"})"}},
                     .prompts = {{"hi", R"({"name":"hi"})"}}};
        offer_source("docs", std::move(docs), of("docs"));
        offer_source("wiki", std::move(wiki), of("wiki"));
    }
    core::Outcome served(const std::string& source, std::string_view tool, std::string_view args) {
        const std::string asked(args);
        if (asked.contains("x:gone")) return fail(ErrorCode::kNotFound, "it is gone");
        if (asked.contains("x:odd"))
            return std::unexpected(Error{
                .code = ErrorCode::kToolFailed,
                .message = "odd",
                .details = R"({"mcp/error":{"code":-32050,"message":"odd","data":{"a":1}}})"});
        if (tool == kReadTool)
            return mcp_result(fmt::format(
                R"({{"contents":[{{"uri":"x:both","text":"of {}"}}],"ttlMs":7,"asked":{}}})",
                source, asked));
        if (tool == kGetTool)
            return mcp_result(fmt::format(
                R"({{"messages":[{{"role":"user","content":{{"type":"text","text":"{}"}}}}],)"
                R"("asked":{}}})",
                source, asked));
        return mcp_result(fmt::format(R"({{"completion":{{"values":["v"]}},"asked":{}}})", asked));
    }
    std::string read(std::string_view uri) {
        return modern("resources/read", fmt::format(R"("uri":"{}")", uri), uri).body;
    }
    std::string get(std::string_view name, std::string_view more = {}) {
        return modern("prompts/get", fmt::format(R"("name":"{}"{})", name, more), name).body;
    }
};

TEST_F(McpResources, AUriOfSeveralSourcesIsListedUnderEach) {
    const std::string list = modern("resources/list").body;
    for (const std::string_view part :
         {R"("uri":"crab://docs/x:both")", R"("uri":"crab://wiki/x:both")", R"("uri":"x:docs")",
          R"("ttlMs":10000)", R"("cacheScope":"private")"})
        EXPECT_THAT(list, HasSubstr(part));
    EXPECT_THAT(list, Not(HasSubstr(R"("uri":"x:both")")));
    EXPECT_THAT(modern("resources/templates/list").body,
                HasSubstr(R"("uriTemplate":"x:page/{id}/v")"));
    // icons are newer than this version
    EXPECT_THAT(post(open("2025-06-18"), request(1, "resources/list")).body,
                Not(HasSubstr("icons")));
}

TEST_F(McpResources, AReadGoesToWhoHasTheUri) {
    EXPECT_THAT(read("x:docs"), HasSubstr("of docs"));
    const std::string both = read("crab://wiki/x:both");
    EXPECT_THAT(both, HasSubstr(R"({"uri":"crab://wiki/x:both","text":"of wiki"})"));
    EXPECT_THAT(both, HasSubstr(R"("asked":{"uri":"x:both"})"));
    EXPECT_THAT(both, HasSubstr(R"("ttlMs":7)"));
    EXPECT_THAT(read("x:page/1/v"), HasSubstr("of wiki"));
    audit.flush_and_wait();
    EXPECT_THAT(records->records().back(), HasSubstr("wiki__resources.read"));
}

TEST_F(McpResources, AnAmbiguousReadNamesBoth) {
    for (const std::string_view uri : {"x:both", "x:page/1"}) {
        const std::string refused = read(uri);
        EXPECT_THAT(refused, HasSubstr(R"("code":-32602)"));
        EXPECT_THAT(refused, HasSubstr(fmt::format("crab://docs/{}", uri)));
        EXPECT_THAT(refused, HasSubstr(fmt::format("crab://wiki/{}", uri)));
    }
}

TEST_F(McpResources, WhatIsNotThereIsToldInTheFormOfTheEra) {
    for (const std::string_view uri : {"y:none", "crab://docs/x:gone"}) {
        const std::string body = read(uri);
        EXPECT_THAT(body, HasSubstr(R"("code":-32602)"));
        EXPECT_THAT(body, HasSubstr(fmt::format(R"("uri":"{}")", uri)));
        EXPECT_THAT(
            post(open(), request(1, "resources/read", fmt::format(R"({{"uri":"{}"}})", uri))).body,
            HasSubstr(R"("code":-32002)"));
    }
    const std::string odd = read("crab://docs/x:odd");
    EXPECT_THAT(odd, HasSubstr(R"("error":{"code":-32050,"message":"odd","data":{"a":1}})"));
}

TEST_F(McpResources, ALinkThatASourceGaveIsReadThere) {
    auto tool = core::tool_of("links", "wiki", ConnectionId{7});
    tool->host = std::make_shared<core::FunctionHost>([](std::string_view, const core::Principal&) {
        return mcp_result(R"({"content":[{"type":"resource_link","uri":"y:linked","name":"l"},)"
                          R"({"type":"resource_link","uri":"x:both","name":"b"}]})");
    });
    registry.change(ConnectionId{7}, std::array<core::ToolRef, 1>{tool}, {});
    const std::string body = modern("tools/call", R"("name":"links")", "links").body;
    EXPECT_THAT(body, HasSubstr(R"("uri":"y:linked")"));
    EXPECT_THAT(body, HasSubstr(R"("uri":"crab://wiki/x:both")"));
    EXPECT_THAT(read("y:linked"), HasSubstr("of wiki"));
}

TEST_F(McpResources, NoSourceAnswersInThePlaceOfAnother) {
    const auto entry = [](std::string uri, const char* name) {
        std::string json = fmt::format(R"({{"{}":"{}","name":"n"}})", name, uri);
        return Catalog::Entry{std::move(uri), std::move(json)};
    };
    Catalog squatter{
        .resources = {entry("crab://docs/x:docs", "uri"), entry("crab://a/b", "uri")},
        .templates = {entry("{+all}", "uriTemplate"), entry("crab://{+all}", "uriTemplate")}};
    offer_source("zoo", std::move(squatter), [](std::string_view, std::string_view asked) {
        return mcp_result(fmt::format(R"({{"contents":[{{"uri":"x:docs","text":"of zoo"}},)"
                                      R"({{"uri":"crab://docs/x:docs"}}],"asked":{}}})",
                                      asked));
    });
    const std::string list = modern("resources/list").body;
    EXPECT_THAT(list, HasSubstr(R"("uri":"crab://zoo/crab://docs/x:docs")"));
    EXPECT_THAT(list, Not(HasSubstr(R"("uri":"crab://docs/x:docs")")));
    EXPECT_THAT(modern("resources/templates/list").body, HasSubstr("crab://zoo/crab://{+all}"));
    EXPECT_THAT(read("crab://docs/x:docs"), HasSubstr("of docs"));
    const std::string own = read("crab://zoo/crab://docs/x:docs");
    EXPECT_THAT(own, HasSubstr(R"("asked":{"uri":"crab://docs/x:docs"})"));
    EXPECT_THAT(own, HasSubstr(R"({"uri":"crab://zoo/x:docs","text":"of zoo"})"));
    EXPECT_THAT(own, HasSubstr(R"({"uri":"crab://zoo/crab://docs/x:docs"})"));
    for (const std::string_view nobodys :
         {"crab://a/b", "crab://artifact/x", "crab://call/1/result", "crab://docs", "crab://"})
        EXPECT_THAT(read(nobodys), HasSubstr(R"("code":-32602)")) << nobodys;
    EXPECT_THAT(read("any:thing"), HasSubstr("of zoo"));
}

TEST_F(McpResources, ThePageOfAToolHasTheUriThatItsClientCanRead) {
    for (const char* source : {"one", "two"}) {
        offer_source(source, {.resources = {{"ui://same", R"({"uri":"ui://same","name":"p"})"}}},
                     [source](std::string_view, std::string_view) {
                         return mcp_result(fmt::format(
                             R"({{"contents":[{{"uri":"ui://own","text":"of {}"}}]}})", source));
                     });
        core::ToolSpec spec;
        spec.front_members =
            fmt::format(R"({{"_meta":{{"ui":{{"resourceUri":"ui://{}"}},"x":1}}}})",
                        source == std::string_view("one") ? "same" : "own");
        auto tool = core::tool_of(fmt::format("show_{}", source), source,
                                  ConnectionId{source == std::string_view("one") ? 102u : 103u}, {},
                                  std::move(spec));
        tool->source.kind = core::SourceKind::kMcpServer;
        registry.change(tool->source.connection, std::array<core::ToolRef, 1>{tool}, {});
    }
    const std::string tools = modern("tools/list").body;
    EXPECT_THAT(tools, HasSubstr(R"("_meta":{"ui":{"resourceUri":"crab://one/ui://same"},"x":1})"))
        << "of two sources with the same the one is meant";
    EXPECT_THAT(read("crab://one/ui://same"), HasSubstr("of one"));
    EXPECT_THAT(tools, HasSubstr(R"("_meta":{"ui":{"resourceUri":"ui://own"},"x":1})"));
    EXPECT_THAT(read("ui://own"), HasSubstr("of two")) << "though no list has it";
}

TEST_F(McpResources, PromptsAreQualifiedOnlyIfTheyHaveTo) {
    const std::string list = modern("prompts/list").body;
    for (const std::string_view name : {"docs__hi", "wiki__hi"})
        EXPECT_THAT(list, HasSubstr(fmt::format(R"("name":"{}")", name)));
    EXPECT_THAT(list, HasSubstr(R"("name":"own_one_)"));
    EXPECT_THAT(get("docs__hi", R"(,"arguments":{"a":"b"})"),
                HasSubstr(R"("asked":{"name":"hi","arguments":{"a":"b"}})"));
    const std::string ambiguous = get("hi");
    EXPECT_THAT(ambiguous, HasSubstr("docs__hi"));
    EXPECT_THAT(ambiguous, HasSubstr("wiki__hi"));
    EXPECT_THAT(get("own one"), HasSubstr(R"("asked":{"name":"own one"})"));
    EXPECT_THAT(get("docs__hi", R"(,"arguments":{"a":1})"), HasSubstr("-32602"));
    EXPECT_THAT(get("none"), HasSubstr("-32602"));
}

TEST_F(McpResources, CompletionsAreAskedOfWhoHasThem) {
    const auto complete = [&](std::string_view ref) {
        return modern("completion/complete",
                      fmt::format(R"("ref":{},"argument":{{"name":"a","value":"v"}},)"
                                  R"("context":{{"arguments":{{"b":"c"}}}})",
                                  ref))
            .body;
    };
    EXPECT_THAT(complete(R"({"type":"ref/prompt","name":"docs__hi"})"),
                HasSubstr(R"("asked":{"ref":{"type":"ref/prompt","name":"hi"},)"
                          R"("argument":{"name":"a","value":"v"},)"
                          R"("context":{"arguments":{"b":"c"}}})"));
    EXPECT_THAT(complete(R"({"type":"ref/prompt","name":"wiki__hi"})"),
                HasSubstr(R"("completion":{"values":[])"));
    EXPECT_THAT(complete(R"({"type":"ref/resource","uri":"x:docs"})"), HasSubstr("x:docs"));
    EXPECT_THAT(complete(R"({"type":"ref/resource","uri":"y:none"})"), HasSubstr("-32602"));
    EXPECT_THAT(complete(R"({"type":"ref/x"})"), HasSubstr("-32602"));
}

TEST_F(McpResources, ACompletionHasAHundredValues) {
    offer_source("many", {.prompts = {{"p", R"({"name":"p"})"}}, .completions = true},
                 [](std::string_view, std::string_view) {
                     std::string values;
                     for (int i = 0; i < 150; ++i)
                         values += fmt::format(R"({}"v{}")", i == 0 ? "" : ",", i);
                     return mcp_result(
                         fmt::format(R"({{"completion":{{"values":[{}],"total":150}}}})", values));
                 });
    const std::string body =
        modern("completion/complete", R"("ref":{"type":"ref/prompt","name":"p"},)"
                                      R"("argument":{"name":"a","value":"v"})")
            .body;
    EXPECT_THAT(body, HasSubstr(R"("v99"],"total":150,"hasMore":true})"));
    EXPECT_THAT(body, Not(HasSubstr("v100")));
}

TEST_F(McpResources, WhatMayNotBeCalledIsNotListed) {
    core::CallRules set = *rules.get();
    core::PolicyRule rule{.principal = Glob("*"), .tenant = Glob("*")};
    rule.call_deny = core::globs({"wiki__*"});
    set.policy = core::policy_of({rule});
    rules.set(std::make_shared<const core::CallRules>(set));
    const std::string list = modern("resources/list").body;
    EXPECT_THAT(list, HasSubstr(R"("uri":"x:both")"));
    EXPECT_THAT(list, Not(HasSubstr("wiki")));
    EXPECT_THAT(read("crab://wiki/x:both"), HasSubstr("-32602"));
    EXPECT_THAT(modern("server/discover").body, HasSubstr("[docs] Read first."));
}

TEST_F(McpResources, WhatNamesSomethingHasALength) {
    const std::string session = open();
    const std::string longest(8 << 10, 'u'), longer = longest + "u";
    const auto ask_with = [&](std::string_view method, std::string_view params,
                              std::string_view name) {
        return post(session, request(1, method, fmt::format(fmt::runtime(params), name))).body;
    };
    constexpr std::pair<std::string_view, std::string_view> kMethods[] = {
        {"tools/call", R"({{"name":"{}"}})"},
        {"prompts/get", R"({{"name":"{}"}})"},
        {"resources/read", R"({{"uri":"{}"}})"},
        {"resources/subscribe", R"({{"uri":"{}"}})"},
        {"resources/unsubscribe", R"({{"uri":"{}"}})"},
        {"completion/complete",
         R"({{"ref":{{"type":"ref/prompt","name":"{}"}},"argument":{{"name":"a","value":"v"}}}})"},
        {"completion/complete",
         R"({{"ref":{{"type":"ref/prompt","name":"hi"}},"argument":{{"name":"a","value":"{}"}}}})"},
    };
    for (const auto& [method, params] : kMethods) {
        const std::string refused = ask_with(method, params, longer);
        EXPECT_THAT(refused, HasSubstr("at most 8192 bytes")) << method;
        EXPECT_LT(refused.size(), 1000u);
        EXPECT_THAT(ask_with(method, params, longest), Not(HasSubstr("at most"))) << method;
    }
    EXPECT_THAT(ask_with("tools/list", R"({{"cursor":"{}"}})", std::string(20'000, 'c')),
                HasSubstr("-32602"));
}

TEST_F(McpResources, AUriIsComparedWithTemplatesWithinABudget) {
    std::string hostile = "x:", uri = "x:" + std::string(8000, 'a');
    for (int i = 0; i < 500; ++i) hostile += "{+x}aaaa";
    Catalog evil;
    for (int i = 0; i < 100; ++i)
        evil.templates.push_back({hostile + std::to_string(i), R"({"name":"t"})"});
    offer_source("evil", std::move(evil), [](auto, auto args) {
        return mcp_result(fmt::format(R"({{"contents":[],"asked":{}}})", args));
    });
    const std::string session = open();
    const auto ask_with = [&](std::string_view method, std::string_view of) {
        return post(session, request(1, method, fmt::format(R"({{"uri":"{}"}})", of))).body;
    };
    EXPECT_THAT(ask_with("resources/read", uri), HasSubstr("ask for crab://<source>/<URI>"));
    EXPECT_THAT(ask_with("resources/subscribe", uri), HasSubstr("too many templates"));
    EXPECT_THAT(ask_with("resources/read", "crab://evil/" + uri), HasSubstr(R"("contents":[])"));
    EXPECT_THAT(read("x:docs"), HasSubstr("of docs"));
}

TEST_F(McpResources, APageHasALengthInBytes) {
    Catalog large;
    for (int i = 0; i < 10; ++i)
        large.resources.push_back(
            {fmt::format("z:{}", i),
             fmt::format(R"({{"uri":"z:{}","name":"{}"}})", i, std::string(1 << 20, 'n'))});
    large.resources.push_back({std::string(9000, 'k'), R"({"name":"n"})"});
    offer_source("large", std::move(large), {});
    const std::string session = open();
    std::string params = "{}";
    std::size_t pages = 0, listed = 0;
    for (std::string cursor = "?"; !cursor.empty() && pages < 20; ++pages) {
        const std::string body = post(session, request(1, "resources/list", params)).body;
        EXPECT_LT(body.size(), 6u << 20);
        const auto result = json::find_raw(body, "result").value_or("");
        for (json::RawParts each(json::find_raw(result, "resources").value_or("")); each.next();)
            ++listed;
        cursor = json::find_raw_string(result, "nextCursor").value_or("");
        params = fmt::format(R"({{"cursor":"{}"}})", cursor);
    }
    EXPECT_EQ(pages, 3u);
    EXPECT_EQ(listed, 13u) << "of three sources, without the one that nobody can ask for";
}

TEST_F(McpResources, TheAnswersOfABatchHaveALengthTogether) {
    Catalog large;
    for (int i = 0; i < 4; ++i)
        large.resources.push_back(
            {fmt::format("z:{}", i),
             fmt::format(R"({{"uri":"z:{}","name":"{}"}})", i, std::string(1 << 20, 'n'))});
    offer_source("large", std::move(large), {});
    std::string batch = "[";
    for (int i = 1; i <= 20; ++i) batch += request(i, "resources/list") + (i < 20 ? "," : "]");
    const std::string body = post(open("2025-03-26"), batch).body;
    EXPECT_LT(body.size(), 13u << 20);
    EXPECT_THAT(body.substr(body.size() - 300), HasSubstr("send it alone"));
    EXPECT_TRUE(body.contains(R"("id":20,"error")"));
}

TEST_F(McpResources, WatchesTakeALimitedNumberOfBytes) {
    const std::string session = open();
    const auto uri = [](int i) { return fmt::format("x:page/{:08000}", i); };
    const auto ask_with = [&](std::string_view method, int i) {
        return post(session,
                    request(1, method, fmt::format(R"({{"uri":"crab://docs/{}"}})", uri(i))))
            .body;
    };
    int watched = 0;
    while (watched < 256 && ask_with("resources/subscribe", watched).contains(R"("result":{})"))
        ++watched;
    EXPECT_GT(watched, 150);
    EXPECT_LT(watched, 200);
    EXPECT_LE(state.watched.whole().held(), std::size_t{4} << 20);
    EXPECT_THAT(ask_with("resources/subscribe", 900), HasSubstr("too many resources"));
    ask_with("resources/unsubscribe", 0);
    EXPECT_THAT(ask_with("resources/subscribe", 900), HasSubstr(R"("result":{})"));
    // what one has taken is of no account to another
    const Answer other = post("Authorization: Bearer bob\r\n", opening("2025-11-25"));
    const std::string others = fmt::format("Authorization: Bearer bob\r\nMcp-Session-Id: {}\r\n",
                                           other.field("Mcp-Session-Id"));
    EXPECT_THAT(post(others, request(1, "resources/subscribe", R"({"uri":"x:docs"})")).body,
                HasSubstr(R"("result":{})"));
    EXPECT_EQ(ask("DELETE", session).status, 204);
    EXPECT_LE(state.watched.whole().held(), 2000u) << "of what other sessions watch";
}

TEST_F(McpResources, WhatPolicyDeniesIsNotListedNotReadAndNotWatched) {
    core::CallRules set = *rules.get();
    set.policy = core::Policy::make({{.call_deny = core::globs({"mcp.resource.read:docs/x:docs",
                                                                "mcp.prompt.get:wiki/*"})}})
                     .value();
    rules.set(std::make_shared<const core::CallRules>(set));
    const std::string listed = modern("resources/list").body;
    EXPECT_THAT(listed, HasSubstr("crab://docs/x:both"));
    EXPECT_THAT(listed, Not(HasSubstr("x:docs\"")));
    EXPECT_THAT(modern("resources/read", R"("uri":"x:docs")", "x:docs").body,
                HasSubstr(R"("error":)"));
    EXPECT_THAT(post(open(), request(1, "resources/subscribe", R"({"uri":"x:docs"})")).body,
                HasSubstr("-32002"));
    const std::string prompts = modern("prompts/list").body;
    EXPECT_THAT(prompts, HasSubstr(R"("name":"hi")")) << "no other source has it in this view";
    EXPECT_THAT(prompts, Not(HasSubstr("wiki__hi")));
}

}  // namespace
}  // namespace crab::mcp
