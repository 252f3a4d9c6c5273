#include "adapters/mcp/server/endpoint.hpp"

#include "adapters/mcp/server/test_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using test::Answer;
using test::RawClient;
using testing::HasSubstr;
using testing::Not;

struct McpEndpoint : test::ServerTest {
    static std::string error_code(int code) { return fmt::format(R"("code":{})", code); }
};

TEST_F(McpEndpoint, TypesThatAreNotReadOrTakenAreRefused) {
    EXPECT_EQ(ask("POST", "Content-Type: text/plain\r\n", "{}").status, 415);
    EXPECT_EQ(ask("POST", "Content-Type: application/json; charset=utf-8\r\n", "{}").status, 400);
    EXPECT_EQ(post("Accept: text/html\r\n", modern_body("server/discover")).status, 406);
}

TEST_F(McpEndpoint, OtherMethodsAreTold) {
    const Answer answer = ask("PUT", "");
    EXPECT_EQ(answer.status, 405);
    EXPECT_EQ(answer.field("Allow"), "POST, GET, DELETE");
    EXPECT_EQ(ask("GET", "Accept: text/event-stream\r\n").status, 405);
    EXPECT_EQ(ask("DELETE", "").field("Allow"), "POST");
}

TEST_F(McpEndpoint, WhatIsNoMessageIsRefused) {
    EXPECT_THAT(post("", "{").body, HasSubstr(error_code(-32700)));
    EXPECT_THAT(post("", "{").body, HasSubstr(R"("id":null)"));
    EXPECT_THAT(post("MCP-Protocol-Version: 2026-07-28\r\n", "{").body, Not(HasSubstr("\"id\"")));
    const Answer wrong = post("", R"({"jsonrpc":"1.0","id":1,"method":"ping"})");
    EXPECT_EQ(wrong.status, 400);
    EXPECT_THAT(wrong.body, HasSubstr(error_code(-32600)));
    EXPECT_EQ(post("", "[" + request(1, "ping") + "]").status, 400);
}

TEST_F(McpEndpoint, ARequestWithoutSessionIsToldHowToOpenOne) {
    const Answer answer = post("", request(1, "tools/list"));
    EXPECT_EQ(answer.status, 400);
    EXPECT_THAT(answer.body, HasSubstr("initialize"));
    EXPECT_EQ(post("Mcp-Session-Id: beef\r\n", request(1, "tools/list")).status, 404);
}

TEST_F(McpEndpoint, DiscoverTellsVersionsCapabilitiesAndTheServer) {
    const Answer answer = modern("server/discover");
    EXPECT_EQ(answer.status, 200);
    for (const std::string_view part :
         {R"("id":"q1")", R"("supportedVersions":["2026-07-28","2025-11-25")",
          R"("resultType":"complete")", R"("ttlMs":10000)", R"("cacheScope":"private")",
          R"("io.modelcontextprotocol/serverInfo":{"name":"crab","version":"1.2.3"})",
          R"("tools":{"listChanged":true})",
          R"("extensions":{"io.modelcontextprotocol/tasks":{}})"})
        EXPECT_THAT(answer.body, HasSubstr(part));
}

TEST_F(McpEndpoint, HeadersSayWhatAModernRequestSays) {
    const std::string body = modern_body("tools/call", R"("name":"echo")");
    const std::string fields = modern_fields("tools/call", "echo");
    EXPECT_EQ(ask("POST", fields, body).status, 200);
    for (const std::string& wrong :
         {modern_fields("tools/call"), modern_fields("tools/call", "other"),
          modern_fields("Tools/Call", "echo")}) {
        const Answer answer = ask("POST", wrong, body);
        EXPECT_EQ(answer.status, 400) << wrong;
        EXPECT_THAT(answer.body, HasSubstr(error_code(-32020)));
    }
    const Answer other = post("MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: tools/list\r\n",
                              modern_body("tools/list"));
    EXPECT_EQ(other.status, 400);
    EXPECT_THAT(other.body, HasSubstr(error_code(-32020)));
}

TEST_F(McpEndpoint, AFieldThatIsThereTwiceSaysNothing) {
    const std::string body = modern_body("tools/call", R"("name":"echo")");
    const std::string fields = modern_fields("tools/call", "echo");
    for (const std::string_view twice :
         {"Mcp-Name: other\r\n", "mcp-name: echo\r\n", "MCP-METHOD: tools/list\r\n",
          "MCP-Protocol-Version: 2025-11-25\r\n", "Mcp-Param-A: 1\r\nmcp-param-a: 2\r\n"}) {
        const Answer answer = ask("POST", fields + std::string(twice), body);
        EXPECT_EQ(answer.status, 400) << twice;
        EXPECT_THAT(answer.body, HasSubstr(error_code(-32020))) << twice;
    }
    EXPECT_EQ(ask("POST", fields + "Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\n", body).status, 200);
}

TEST_F(McpEndpoint, ErrorsHaveTheirToken) {
    const auto token = [](std::string_view code) {
        return HasSubstr(fmt::format(R"("data":{{"code":"{}"}})", code));
    };
    EXPECT_THAT(modern("no/such").body, token("NOT_FOUND"));
    EXPECT_THAT(modern("tools/list", R"("cursor":"x")").body, token("INVALID_ARGS"));
    EXPECT_THAT(modern("prompts/get", R"("name":"p")", "p").body, token("INVALID_ARGS"));
    EXPECT_THAT(modern("tools/call", R"("name":"none")", "none").body, token("TOOL_NOT_FOUND"));
    EXPECT_THAT(modern("tools/call", R"("name":"echo")", "other").body, token("INVALID_ARGS"));
    EXPECT_THAT(post("", "{").body, token("INVALID_ARGS"));
    EXPECT_THAT(post("", request(1, "tools/list")).body, token("INVALID_ARGS"));
    EXPECT_THAT(ask("GET", "").body, token("INVALID_ARGS"));
}

TEST_F(McpEndpoint, ACallWithAKeyThatCannotBeMeantIsNotRun) {
    gate->open = true;
    const std::string fields = modern_fields("tools/call", "gate");
    for (const std::string_view meta :
         {R"(,"crab/idempotencyKey":7)", R"(,"crab/idempotencyKey":"")", R"(,"crab/timeoutMs":0)"})
        EXPECT_THAT(ask("POST", fields, modern_body("tools/call", R"("name":"gate")", meta)).body,
                    HasSubstr(error_code(-32602)))
            << meta;
    EXPECT_EQ(gate->started, 0);
}

TEST_F(McpEndpoint, ParamHeadersOfASchemaAreChecked) {
    offer("zone", gate,
          R"({"type":"object","properties":{"r":{"type":"string","x-mcp-header":"Region"}}})");
    gate->open = true;
    const std::string body = modern_body("tools/call", R"("name":"zone","arguments":{"r":"eu"})");
    const std::string fields = modern_fields("tools/call", "zone");
    EXPECT_EQ(ask("POST", fields + "mcp-param-region: eu\r\n", body).status, 200);
    for (const std::string_view wrong : {"", "Mcp-Param-Region: us\r\n"}) {
        const Answer answer = ask("POST", fields + std::string(wrong), body);
        EXPECT_EQ(answer.status, 400);
        EXPECT_THAT(answer.body, HasSubstr(error_code(-32020)));
    }
}

TEST_F(McpEndpoint, MethodsThatModernClientsDoNotHaveAreUnknown) {
    for (const std::string_view method : {"initialize", "ping", "logging/setLevel",
                                          "resources/subscribe", "resources/unsubscribe", "x"}) {
        const Answer answer = modern(method);
        EXPECT_EQ(answer.status, 404) << method;
        EXPECT_THAT(answer.body, HasSubstr(error_code(-32601)));
    }
}

TEST_F(McpEndpoint, NotificationsAreAcceptedWithoutBody) {
    const std::string body = R"({"jsonrpc":"2.0","method":"notifications/x","params":{"_meta":{)"
                             R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                             R"("io.modelcontextprotocol/clientCapabilities":{}}}})";
    const std::string version =
        "Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n";
    for (const std::string& fields : {modern_fields("notifications/x"), version}) {
        const Answer answer = ask("POST", fields, body);
        EXPECT_EQ(answer.status, 202) << fields;
        EXPECT_EQ(answer.body, "");
    }
    EXPECT_EQ(ask("POST", modern_fields("notifications/y"), body).status, 400);
}

TEST_F(McpEndpoint, ACallRunsThroughThePipeline) {
    const Answer answer = modern("tools/call", R"("name":"echo","arguments":{"a":1})", "echo");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.field("Content-Type"), "application/json");
    for (const std::string_view part : {R"("text":"echo {\"a\":1}")", R"("resultType":"complete")",
                                        R"("crab/call":{"id":")", R"("duration_ms":)"})
        EXPECT_THAT(answer.body, HasSubstr(part));
    audit.flush_and_wait();
    ASSERT_FALSE(records->records().empty());
    EXPECT_THAT(records->records().back(), HasSubstr(R"("mcp")"));
    // absent arguments are none
    EXPECT_THAT(modern("tools/call", R"("name":"phone__echo")", "phone__echo").body,
                HasSubstr("echo {}"));
}

TEST_F(McpEndpoint, ErrorsOfCallsHaveTheirForm) {
    offer("strict", gate, R"({"type":"object","properties":{"n":{"type":"integer"}}})");
    const Answer unknown = modern("tools/call", R"("name":"no")", "no");
    EXPECT_EQ(unknown.status, 200);
    EXPECT_THAT(unknown.body, HasSubstr(error_code(-32602)));
    EXPECT_THAT(unknown.body, HasSubstr("TOOL_NOT_FOUND"));
    const Answer bad = modern("tools/call", R"("name":"strict","arguments":{"n":"x"})", "strict");
    EXPECT_EQ(bad.status, 200);
    EXPECT_THAT(bad.body, HasSubstr(R"("isError":true)"));
    EXPECT_THAT(bad.body, HasSubstr(R"("crab/error":{"code":"INVALID_ARGS")"));
    EXPECT_EQ(gate->started, 0);
    EXPECT_THAT(modern("tools/call", R"("name":"echo","arguments":[])", "echo").body,
                HasSubstr(error_code(-32602)));
}

TEST_F(McpEndpoint, ProgressMakesTheAnswerAStreamWithoutIds) {
    const auto client =
        begin("POST", modern_fields("tools/call", "gate"),
              modern_body("tools/call", R"("name":"gate")", R"(,"progressToken":"p")"));
    const std::string first = client->read_until("\"begun\"}");
    EXPECT_THAT(first, HasSubstr("Content-Type: text/event-stream"));
    EXPECT_THAT(first, HasSubstr("Cache-Control: no-cache, no-transform"));
    EXPECT_THAT(first, HasSubstr("X-Accel-Buffering: no"));
    EXPECT_THAT(first, HasSubstr(R"("progressToken":"p","progress":1)"));
    gate->open = true;
    const std::string rest = client->read_until("\r\n0\r\n\r\n");
    EXPECT_THAT(rest, HasSubstr("through the gate"));
    EXPECT_THAT(first + rest, Not(HasSubstr("\nid: ")));
}

TEST_F(McpEndpoint, AClientOfJsonOnlyGetsNoStream) {
    gate->open = true;
    const Answer answer =
        ask("POST", modern_fields("tools/call", "gate") + "Accept: application/json\r\n",
            modern_body("tools/call", R"("name":"gate")", R"(,"progressToken":"p")"));
    EXPECT_EQ(answer.field("Content-Type"), "application/json");
    EXPECT_THAT(answer.body, HasSubstr("through the gate"));
}

TEST_F(McpEndpoint, AClientOfEventsOnlyGetsThem) {
    const auto client = begin("POST", modern_fields("tools/list") + "Accept: text/event-stream\r\n",
                              modern_body("tools/list"));
    const std::string answer = client->read_until("\r\n0\r\n\r\n");
    EXPECT_THAT(answer, HasSubstr("Content-Type: text/event-stream"));
    EXPECT_THAT(answer, HasSubstr("event: message\ndata: {"));
}

TEST_F(McpEndpoint, ClosingTheConnectionCancelsAModernCall) {
    auto client = begin("POST", modern_fields("tools/call", "gate"),
                        modern_body("tools/call", R"("name":"gate")"));
    ASSERT_TRUE(until([&] { return gate->started == 1; }));
    const auto began = std::chrono::steady_clock::now();
    client->close();
    ASSERT_TRUE(until([&] { return gate->cancelled == 1; }));
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

TEST_F(McpEndpoint, WithoutSourcesListsAreEmptyAndNothingIsThere) {
    EXPECT_THAT(modern("resources/list").body, HasSubstr(R"("resources":[])"));
    EXPECT_THAT(modern("resources/templates/list").body, HasSubstr(R"("resourceTemplates":[])"));
    EXPECT_THAT(modern("prompts/list").body, HasSubstr(R"("prompts":[])"));
    const Answer read = modern("resources/read", R"("uri":"a:b")", "a:b");
    EXPECT_EQ(read.status, 200);
    EXPECT_THAT(read.body, HasSubstr(error_code(-32602)));
    EXPECT_THAT(read.body, HasSubstr(R"("uri":"a:b")"));
    EXPECT_THAT(modern("prompts/get", R"("name":"p")", "p").body, HasSubstr(error_code(-32602)));
}

struct McpSlowAnswer : test::ServerTest {
    McpSlowAnswer()
        : ServerTest([] {
              ServerOptions options = quiet();
              options.stream_after = Milliseconds(20);
              options.keepalive = Milliseconds(20);
              return options;
          }()) {}
};

TEST_F(McpSlowAnswer, AnAnswerThatTakesLongIsAStreamWithCommentsWhileItWaits) {
    const auto client = begin("POST", modern_fields("tools/call", "gate"),
                              modern_body("tools/call", R"("name":"gate")"));
    const std::string first = client->read_until("\r\n\r\n");
    EXPECT_THAT(first, HasSubstr("text/event-stream"));
    for (int i = 0; i < 3; ++i) client->read_until(":\n\n");
    gate->open = true;
    EXPECT_THAT(client->read_until("\r\n0\r\n\r\n"), HasSubstr("through the gate"));
}

}  // namespace
}  // namespace crab::mcp
