#include "adapters/mcp/server/endpoint.hpp"
#include "adapters/mcp/server/test_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using test::Answer;
using testing::HasSubstr;
using testing::Not;

struct McpLegacySession : test::ServerTest {
    std::string call(int id, std::string_view tool, std::string_view meta = "{}") {
        return request(id, "tools/call", fmt::format(R"({{"name":"{}","_meta":{}}})", tool, meta));
    }
    static std::string cancelled(int id) {
        return fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/cancelled",)"
                           R"("params":{{"requestId":{}}}}})",
                           id);
    }
    static constexpr std::string_view kJson = "Content-Type: application/json\r\n";
    static constexpr std::string_view kEvents = "Accept: text/event-stream\r\n";
};

TEST_F(McpLegacySession, VersionsAreNegotiated) {
    for (const std::string_view version :
         {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
        const Answer answer = post("", opening(version));
        EXPECT_THAT(answer.body, HasSubstr(fmt::format(R"("protocolVersion":"{}")", version)));
        EXPECT_THAT(answer.body, HasSubstr(R"("serverInfo":{"name":"crab")"));
        EXPECT_THAT(answer.body, Not(HasSubstr("resultType")));
    }
    EXPECT_THAT(post("", opening("2026-07-28")).body,
                HasSubstr(R"("protocolVersion":"2025-11-25")"));
    EXPECT_EQ(post("", request(1, "initialize")).status, 400);
}

TEST_F(McpLegacySession, ASessionServesFromItsOpeningToItsEnd) {
    const std::string session = open();
    EXPECT_THAT(post(session, request(1, "ping")).body, HasSubstr(R"("id":1,"result":{})"));
    const Answer done = post(session, R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    EXPECT_EQ(done.status, 202);
    EXPECT_THAT(post(session, request(2, "tools/list")).body, HasSubstr(R"("name":"echo")"));
    EXPECT_THAT(post(session, call(3, "echo")).body, HasSubstr("echo {}"));
    EXPECT_EQ(post(session, opening("2025-11-25")).status, 400);
    EXPECT_EQ(post(session, R"({"jsonrpc":"2.0","id":9,"result":{}})").status, 202);
    const Answer unknown = post(session, request(4, "server/discover"));
    EXPECT_EQ(unknown.status, 200);
    EXPECT_THAT(unknown.body, HasSubstr("-32601"));
    EXPECT_EQ(ask("DELETE", session).status, 204);
    EXPECT_EQ(ask("DELETE", session).status, 404);
    EXPECT_EQ(post(session, request(5, "ping")).status, 404);
}

TEST_F(McpLegacySession, NobodyElseIsToldItsId) {
    const std::string session = open();
    EXPECT_EQ(post(session, call(1, "echo")).status, 200);
    const std::string id = session.substr(sizeof("Mcp-Session-Id: ") - 1, 64);
    const auto live = state.sessions.find(id, *core::principal_of("caller/ann"));
    ASSERT_NE(live, nullptr);
    audit.flush_and_wait();
    EXPECT_THAT(records->records().back(), HasSubstr(live->facts().label));
    EXPECT_THAT(records->records().back(), Not(HasSubstr(id)));
}

TEST_F(McpLegacySession, ALongNameOfAClientIsNotKept) {
    const auto name_of = [&](std::size_t size) {
        const std::string params =
            fmt::format(R"({{"protocolVersion":"2025-11-25",)"
                        R"("capabilities":{{}},"clientInfo":{{"name":"{}"}}}})",
                        std::string(size, 'n'));
        const std::string id = post("", request(0, "initialize", params)).field("Mcp-Session-Id");
        return state.sessions.find(id, *core::principal_of("caller/ann"))->facts().client.name;
    };
    EXPECT_EQ(name_of(64).size(), 64u);
    EXPECT_EQ(name_of(65), "");
    EXPECT_EQ(name_of(3 << 20), "");
}

TEST_F(McpLegacySession, ASessionIsOfItsPrincipalAndItsVersion) {
    const std::string session = open();
    EXPECT_EQ(post(session + "Authorization: Bearer bob\r\n", request(1, "ping")).status, 404);
    EXPECT_EQ(post(session + "MCP-Protocol-Version: 2025-11-25\r\n", request(1, "ping")).status,
              200);
    EXPECT_EQ(post(session + "MCP-Protocol-Version: 2025-06-18\r\n", request(1, "ping")).status,
              400);
    EXPECT_EQ(ask("GET", session + "MCP-Protocol-Version: 2025-06-18\r\n").status, 400);
    EXPECT_EQ(ask("GET", session + "Accept: application/json\r\n").status, 406);
}

TEST_F(McpLegacySession, ASessionLivesOnEveryEventLoop) {
    const std::string session = open();
    EXPECT_THAT(post(session, call(1, "echo"), 1).body, HasSubstr("echo {}"));
    // a call of one loop is cancelled from the other, and gets no answer
    const auto client = begin("POST", std::string(kJson) + session, call(2, "gate"), 0);
    ASSERT_TRUE(until([&] { return gate->started == 1; }));
    EXPECT_EQ(post(session, call(2, "echo"), 1).status, 400);
    EXPECT_EQ(post(session, cancelled(7), 1).status, 202);
    EXPECT_EQ(post(session + "Authorization: Bearer bob\r\n", cancelled(2), 1).status, 404);
    EXPECT_EQ(gate->cancelled, 0);
    EXPECT_EQ(post(session, cancelled(2), 1).status, 202);
    EXPECT_THAT(client->read_until("\r\n0\r\n\r\n"), Not(HasSubstr("result")));
    EXPECT_EQ(gate->cancelled, 1);
}

TEST_F(McpLegacySession, AnIdThatStillRunsIsOfNoOtherRequest) {
    const std::string session = open();
    const auto client = begin("POST", std::string(kJson) + session, call(2, "gate"));
    ASSERT_TRUE(until([&] { return gate->started == 1; }));
    for (const std::string_view method : {"tools/list", "ping", "tools/call", "resources/read"}) {
        const Answer answer = post(session, request(2, method, R"({"name":"echo","uri":"a:b"})"));
        EXPECT_EQ(answer.status, 400) << method;
        EXPECT_THAT(answer.body, HasSubstr(R"("error":{"code":-32600)")) << method;
    }
    EXPECT_EQ(post(session, request(3, "ping")).status, 200);
    gate->open = true;
    EXPECT_THAT(client->read_response(), HasSubstr("through the gate"));
    EXPECT_EQ(post(session, request(2, "ping")).status, 200);
}

TEST_F(McpLegacySession, DeletingASessionCancelsItsCallsAndEndsItsStreams) {
    const std::string session = open();
    const auto events = begin("GET", std::string(kEvents) + session, {}, 1);
    events->read_until(":\n\n");
    const auto client = begin("POST", std::string(kJson) + session, call(1, "gate"));
    ASSERT_TRUE(until([&] { return gate->started == 1; }));
    EXPECT_EQ(ask("DELETE", session, {}, 1).status, 204);
    EXPECT_TRUE(until([&] { return gate->cancelled == 1; }));
    EXPECT_THAT(events->read_until("0\r\n\r\n"), HasSubstr("0\r\n\r\n"));
}

TEST_F(McpLegacySession, ABatchIsForOneVersionOnly) {
    const std::string batch =
        fmt::format(R"([{},{{"jsonrpc":"2.0","method":"notifications/initialized"}},{},{{}}])",
                    request(1, "ping"), call(2, "echo"));
    const Answer answer = post(open("2025-03-26"), batch);
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(answer.body, testing::StartsWith("["));
    EXPECT_THAT(answer.body, HasSubstr(R"("id":1)"));
    EXPECT_THAT(answer.body, HasSubstr("echo {}"));
    EXPECT_THAT(answer.body, HasSubstr("-32600"));
    EXPECT_EQ(post(open("2025-03-26"), R"([{"jsonrpc":"2.0","method":"x"}])").status, 202);
    EXPECT_EQ(post(open("2025-06-18"), batch).status, 400);
}

TEST_F(McpLegacySession, StreamsOfTheNewestLegacyVersionBeginWithAnIdOnly) {
    constexpr std::string_view kToken = R"({"progressToken":5})";
    gate->open = true;
    const auto newest = begin("POST", std::string(kJson) + open(), call(1, "gate", kToken));
    const std::string primed = newest->read_until("\r\n0\r\n\r\n");
    EXPECT_THAT(primed, HasSubstr("id: 1-1\ndata: \n\n"));
    EXPECT_THAT(primed, HasSubstr("id: 1-2\ndata: {"));
    EXPECT_THAT(primed, HasSubstr(R"("progressToken":5)"));
    const auto older =
        begin("POST", std::string(kJson) + open("2025-06-18"), call(1, "gate", kToken));
    EXPECT_THAT(older->read_until("\r\n0\r\n\r\n"), Not(HasSubstr("data: \n")));
}

TEST_F(McpLegacySession, ABrokenStreamIsResumedOnAnotherLoopAndNothingComesTwice) {
    const std::string session = open();
    auto client =
        begin("POST", std::string(kJson) + session, call(1, "gate", R"({"progressToken":5})"));
    client->read_until("id: 1-1\n");
    client->close();
    std::string again = fmt::format("{}{}Last-Event-ID: 1-1\r\n", kEvents, session);
    const auto resumed = begin("GET", again, {}, 1);
    EXPECT_THAT(resumed->read_until("id: 1-2\n"), Not(HasSubstr("1-1")));
    EXPECT_EQ(gate->cancelled, 0);
    gate->open = true;
    const std::string rest = resumed->read_until("\r\n0\r\n\r\n");
    EXPECT_THAT(rest, HasSubstr("id: 1-3\n"));
    EXPECT_THAT(rest, HasSubstr("through the gate"));
    // the final response is kept
    again = fmt::format("{}{}Last-Event-ID: 1-2\r\n", kEvents, session);
    EXPECT_THAT(begin("GET", again)->read_until("\r\n0\r\n\r\n"), HasSubstr("through the gate"));
    for (const std::string_view unknown : {"1-9", "7-1", "x"}) {
        again = fmt::format("{}{}Last-Event-ID: {}\r\n", kEvents, session, unknown);
        EXPECT_EQ(ask("GET", again).status, 400) << unknown;
    }
}

TEST_F(McpLegacySession, ANewerGetReplacesTheOlder) {
    const std::string fields = std::string(kEvents) + open();
    const auto older = begin("GET", fields, {}, 0);
    older->read_until(":\n\n");
    const auto newer = begin("GET", fields, {}, 1);
    EXPECT_THAT(newer->read_until(":\n\n"), HasSubstr(" 200 "));
    older->read_until("0\r\n\r\n");
}

TEST_F(McpLegacySession, LogLevelsAreThoseOfTheText) {
    const std::string session = open();
    EXPECT_THAT(post(session, request(1, "logging/setLevel", R"({"level":"debug"})")).body,
                HasSubstr(R"("result":{})"));
    EXPECT_THAT(post(session, request(2, "logging/setLevel", R"({"level":"loud"})")).body,
                HasSubstr("-32602"));
}

TEST_F(McpLegacySession, AResourceThatIsNotThereHasTheLegacyCode) {
    EXPECT_THAT(post(open(), request(1, "resources/read", R"({"uri":"a:b"})")).body,
                HasSubstr("-32002"));
}

struct McpPolling : test::ServerTest {
    McpPolling()
        : ServerTest([] {
              ServerOptions options;
              options.stream_after = Milliseconds(1);
              options.poll_after = Milliseconds(20);
              return options;
          }()) {}
};

TEST_F(McpPolling, AStreamIsClosedBeforeItsAnswerWhichWaitsForWhoResumesIt) {
    const std::string fields = open() + "Content-Type: application/json\r\n";
    const std::string call = request(1, "tools/call", R"({"name":"gate","arguments":{}})");
    const std::string first = begin("POST", fields, call)->read_until("0\r\n\r\n");
    EXPECT_THAT(first, HasSubstr("Connection: close"));
    EXPECT_THAT(first, HasSubstr("retry: 1000"));
    EXPECT_THAT(first, Not(HasSubstr("through the gate")));
    gate->open = true;
    const std::size_t at = first.find("id: ") + 4;
    const std::string id = first.substr(at, first.find('\n', at) - at);
    const auto rest = begin(
        "GET", fmt::format("{}Accept: text/event-stream\r\nLast-Event-ID: {}\r\n", fields, id));
    EXPECT_THAT(rest->read_until("0\r\n\r\n"), HasSubstr("through the gate"));
    EXPECT_EQ(gate->started, 1);
    EXPECT_EQ(gate->cancelled, 0);
}

TEST_F(McpPolling, OlderRevisionsAreNotPolled) {
    const std::string fields = open("2025-06-18") + "Content-Type: application/json\r\n";
    const auto client =
        begin("POST", fields, request(1, "tools/call", R"({"name":"gate","arguments":{}})"));
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    gate->open = true;
    const std::string all = client->read_until("0\r\n\r\n");
    EXPECT_THAT(all, HasSubstr("through the gate"));
    EXPECT_THAT(all, Not(HasSubstr("retry:")));
}

}  // namespace
}  // namespace crab::mcp
