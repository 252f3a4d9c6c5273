#include "adapters/mcp/server/change_streams.hpp"

#include "adapters/mcp/server/test_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using test::Answer;
using testing::HasSubstr;
using testing::Not;

struct McpChangeStreams : test::ServerTest {
    std::unique_ptr<test::RawClient> listen(std::string_view notifications) {
        return begin("POST", modern_fields("subscriptions/listen"),
                     modern_body("subscriptions/listen",
                                 fmt::format(R"("notifications":{})", notifications)));
    }
    void stop() {
        for (const auto& part : parts) {
            part->server.thread.run([&] {
                part->endpoint->stop();
                return 0;
            });
        }
    }
    static constexpr std::string_view kId = R"("io.modelcontextprotocol/subscriptionId":"q1")";
};

TEST_F(McpChangeStreams, ListenAcknowledgesWhatItWillTell) {
    const auto client = listen(R"({"toolsListChanged":true,"promptsListChanged":false,"x":["y"]})");
    const std::string first = client->read_until("}\n\n");
    EXPECT_THAT(first, HasSubstr("notifications/subscriptions/acknowledged"));
    EXPECT_THAT(first, HasSubstr(kId));
    EXPECT_THAT(first, HasSubstr(R"("notifications":{"toolsListChanged":true})"));
    stop();
    const std::string last = client->read_until("\r\n0\r\n\r\n");
    EXPECT_THAT(last, HasSubstr(R"("id":"q1","result":{)"));
    EXPECT_THAT(last, HasSubstr(kId));
    EXPECT_THAT(first + last, Not(HasSubstr("\nid: ")));
}

TEST_F(McpChangeStreams, ListenStreamsOfAPrincipalAndTheirUrisAreBounded) {
    std::vector<std::unique_ptr<test::RawClient>> streams;
    for (int i = 0; i < 16; ++i) streams.push_back(listen("{}"));
    for (const auto& each : streams) each->read_until("}\n\n");
    const auto refused = listen("{}")->read_response();
    EXPECT_THAT(refused, HasSubstr("too many listen streams"));
    EXPECT_THAT(refused, HasSubstr(R"("data":{"code":"RATE_LIMITED"})"));
    const Answer other =
        ask("POST", modern_fields("subscriptions/listen") + "Authorization: Bearer bob\r\n",
            modern_body("subscriptions/listen", R"("notifications":7)"));
    EXPECT_THAT(other.body, HasSubstr("notifications: an object"));
    std::string uris = "\"u:0\"";
    for (int i = 1; i < 257; ++i) uris += fmt::format(",\"u:{}\"", i);
    EXPECT_THAT(listen(fmt::format(R"({{"resourceSubscriptions":[{}]}})", uris))->read_response(),
                HasSubstr("at most 256 URIs"));
    stop();
}

TEST_F(McpChangeStreams, AChangedListIsToldToEveryStreamOnceAndSoon) {
    const std::string session = open();
    const auto modern = listen(R"({"toolsListChanged":true})");
    modern->read_until("}\n\n");
    const auto legacy = begin("GET", "Accept: text/event-stream\r\n" + session, {}, 1);
    legacy->read_until(":\n\n");
    offer("newcomer", gate);
    const std::string told = modern->read_until("}\n\n");
    EXPECT_THAT(told, HasSubstr("notifications/tools/list_changed"));
    EXPECT_THAT(told, HasSubstr(kId));
    const std::string event = legacy->read_until("}\n\n");
    EXPECT_THAT(event, HasSubstr("notifications/tools/list_changed"));
    EXPECT_THAT(event, HasSubstr("id: 0-1\n"));
    stop();
    EXPECT_THAT(modern->read_until("\r\n0\r\n\r\n"), Not(HasSubstr("list_changed")));
}

TEST_F(McpChangeStreams, ASecondChangeIsToldASecondLater) {
    const auto client = listen(R"({"toolsListChanged":true})");
    client->read_until("}\n\n");
    const auto before = std::chrono::steady_clock::now();
    for (const char* name : {"newcomer", "another"}) {
        offer(name, gate);
        EXPECT_THAT(client->read_until("}\n\n"), HasSubstr("notifications/tools/list_changed"));
    }
    EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::seconds(1));
    stop();
}

TEST_F(McpChangeStreams, OtherRulesAreAChangeOfWhatTheyHide) {
    const auto client = listen(R"({"toolsListChanged":true})");
    client->read_until("}\n\n");
    core::CallRules set = *rules.get();
    set.policy = core::Policy::make({{.call_deny = core::globs({"gate"})}}).value();
    rules.set(std::make_shared<const core::CallRules>(set));
    registry.changes().notify();  // as a reload does
    EXPECT_THAT(client->read_until("}\n\n"), HasSubstr("notifications/tools/list_changed"));
    stop();
}

TEST_F(McpChangeStreams, WhatWasNotAskedForOrDidNotChangeIsNotTold) {
    const auto other = listen(R"({"promptsListChanged":true})");
    other->read_until("}\n\n");
    const auto same = listen(R"({"toolsListChanged":true})");
    same->read_until("}\n\n");
    offer("gate", gate);  // as it was
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    stop();
    EXPECT_THAT(other->read_until("\r\n0\r\n\r\n"), Not(HasSubstr("list_changed")));
    EXPECT_THAT(same->read_until("\r\n0\r\n\r\n"), Not(HasSubstr("list_changed")));
}

TEST_F(McpChangeStreams, ChangedResourcesAndPromptsAreTold) {
    const std::string session = open();
    const auto resources = listen(R"({"resourcesListChanged":true})");
    resources->read_until("}\n\n");
    const auto legacy = begin("GET", "Accept: text/event-stream\r\n" + session, {}, 1);
    legacy->read_until(":\n\n");
    const auto served = [](std::string_view, std::string_view) { return mcp_result("{}"); };
    offer_source("docs", {.resources = {{"a:1", R"({"uri":"a:1","name":"a"})"}}}, served);
    EXPECT_THAT(resources->read_until("}\n\n"), HasSubstr("notifications/resources/list_changed"));
    EXPECT_THAT(legacy->read_until("}\n\n"), HasSubstr("notifications/resources/list_changed"));
    Catalog more{.source = "docs", .resources = {{"a:1", R"({"uri":"a:1","name":"a"})"}}};
    more.prompts = {{"p", R"({"name":"p"})"}};
    catalogs.set("docs", std::make_shared<const Catalog>(more));
    EXPECT_THAT(legacy->read_until("}\n\n"), HasSubstr("notifications/prompts/list_changed"));
    stop();
    EXPECT_THAT(resources->read_until("\r\n0\r\n\r\n"), Not(HasSubstr("list_changed")));
}

TEST_F(McpChangeStreams, WatchedResourcesAreToldUnderTheirClientsUri) {
    const auto served = [](std::string_view, std::string_view) { return mcp_result("{}"); };
    offer_source("docs", {.resources = {{"a:1", R"({"uri":"a:1","name":"a"})"}}}, served);
    const std::string session = open();
    EXPECT_THAT(
        post(session, request(1, "resources/subscribe", R"({"uri":"crab://docs/a:1"})")).body,
        HasSubstr(R"("result":{)"));
    EXPECT_THAT(post(session, request(2, "resources/subscribe", R"({"uri":"a:2"})")).body,
                HasSubstr("-32002"));
    const auto legacy = begin("GET", "Accept: text/event-stream\r\n" + session);
    legacy->read_until(":\n\n");
    const auto client = listen(R"({"resourceSubscriptions":["a:1","a:2"]})");
    EXPECT_THAT(client->read_until("}\n\n"), HasSubstr(R"("resourceSubscriptions":["a:1"])"));
    EXPECT_THAT(watches.wanted("docs"), testing::ElementsAre("a:1"));
    watches.updated("docs", "a:1");
    const std::string told = client->read_until("}\n\n");
    EXPECT_THAT(told,
                HasSubstr(R"("method":"notifications/resources/updated","params":{"uri":"a:1")"));
    EXPECT_THAT(told, HasSubstr(kId));
    EXPECT_THAT(legacy->read_until("}\n\n"), HasSubstr(R"({"uri":"crab://docs/a:1"})"));
    post(session, request(3, "resources/unsubscribe", R"({"uri":"crab://docs/a:1"})"));
    client->close();
    EXPECT_TRUE(until([&] { return watches.wanted("docs").empty(); }));
}

TEST_F(McpChangeStreams, AWatchThatCannotBeHeldIsRefused) {
    Catalog docs{.resources = {{"a:1", R"({"uri":"a:1","name":"a"})"},
                               {"a:2", R"({"uri":"a:2","name":"b"})"}}};
    offer_source("docs", docs, {});
    std::vector<std::optional<ResourceWatches::Handle>> others;
    for (int i = 0; i < 256; ++i)
        others.push_back(
            watches.watch("docs", fmt::format("o:{}", i), fmt::format("caller/{}", i % 20), [] {}));
    const std::string session = open();
    const auto subscribe = [&](std::string_view uri) {
        return post(session,
                    request(1, "resources/subscribe", fmt::format(R"({{"uri":"{}"}})", uri)))
            .body;
    };
    EXPECT_THAT(subscribe("a:1"), HasSubstr("too many resources of docs are watched"));
    EXPECT_THAT(listen(R"({"resourceSubscriptions":["a:1"]})")->read_until("}\n\n"),
                Not(HasSubstr("a:1")))
        << "the acknowledgement says what is told";
    others[0].reset();
    EXPECT_THAT(subscribe("a:1"), HasSubstr(R"("result":{})"));
    docs.source = "docs";  // whose server does not tell of changes now
    catalogs.set("docs", std::make_shared<const Catalog>(docs));
    EXPECT_THAT(subscribe("a:2"), HasSubstr("cannot be watched"));
    EXPECT_THAT(listen(R"({"resourceSubscriptions":["a:2"]})")->read_until("}\n\n"),
                Not(HasSubstr("a:2")));
}

TEST_F(McpChangeStreams, ARevokedCredentialEndsItsStreams) {
    // the listener of these tests gives principals no credential but their name's
    const auto mine = listen(R"({"toolsListChanged":true})");
    mine->read_until("}\n\n");
    const auto end = [&](std::string_view credential) {
        parts[0]->server.thread.run([&] {
            parts[0]->endpoint->end_credential(credential);
            return 0;
        });
    };
    end("of bob");
    offer("newcomer", gate);
    EXPECT_THAT(mine->read_until("}\n\n"), HasSubstr("list_changed"));
    end("of ann");
    EXPECT_THAT(mine->read_until("\r\n0\r\n\r\n"), HasSubstr(R"("id":"q1","result":{)"));
}

TEST_F(McpChangeStreams, AListenNeedsItsFilterAndAPlace) {
    EXPECT_THAT(modern("subscriptions/listen").body, HasSubstr("-32602"));
    std::vector<std::unique_ptr<test::RawClient>> open;
    for (int i = 0; i < 16; ++i) {
        open.push_back(listen("{}"));
        open.back()->read_until("}\n\n");
    }
    EXPECT_THAT(modern("subscriptions/listen", R"("notifications":{})").body,
                HasSubstr("RATE_LIMITED"));
    open.back()->close();
    EXPECT_TRUE(until([&] {
        const auto client = listen("{}");
        return client->read_until("\n").contains(" 200 ") &&
               client->read_until("}").contains("acknowledged");
    }));
}

}  // namespace
}  // namespace crab::mcp
