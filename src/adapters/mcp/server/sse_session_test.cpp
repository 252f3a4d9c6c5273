#include "adapters/mcp/server/test_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// HTTP+SSE, for clients of 2024-11-05: docs/protocols/mcp.md, section 2.7.
namespace crab::mcp {
namespace {

using test::Answer;
using testing::HasSubstr;
using testing::Not;

struct McpSseSession : test::ServerTest {
    static ServerOptions with_sse() {
        ServerOptions options = quiet();
        options.legacy_sse = true;
        options.sessions = {.per_principal = 4,
                            .bytes_per_session = std::size_t{512} << 10,
                            .bytes_per_principal = std::size_t{1} << 20};
        return options;
    }
    McpSseSession() : ServerTest(with_sse()) {
        offer("large", std::make_shared<core::FunctionHost>(
                           [](std::string_view, const core::Principal&) -> core::Outcome {
                               core::ToolResult result;
                               result.content = std::string(std::size_t{100} << 10, 'x');
                               return result;
                           }));
    }

    /// A stream, and where its messages go.
    struct Opened {
        std::unique_ptr<test::RawClient> stream;
        std::string endpoint;
    };
    Opened open_stream(std::string_view fields = "", std::size_t part = 0) {
        path = "/mcp/sse";
        Opened opened;
        opened.stream =
            begin("GET", fmt::format("Accept: text/event-stream\r\n{}", fields), {}, part);
        EXPECT_THAT(opened.stream->read_until("event: endpoint\ndata: "), HasSubstr(" 200 "));
        opened.endpoint = opened.stream->read_until("\n");
        opened.endpoint.pop_back();
        return opened;
    }
    Answer say(const Opened& opened, std::string_view message, std::string_view fields = "",
               std::size_t part = 0) {
        path = opened.endpoint;
        return post(fields, message, part);
    }
    Opened open_session(std::string_view version = "2024-11-05", std::size_t part = 0,
                        std::string_view capabilities = "{}") {
        Opened opened = open_stream("", part);
        EXPECT_EQ(say(opened, opening(version, capabilities)).status, 202);
        EXPECT_THAT(opened.stream->read_until("\"id\":0"), HasSubstr("\"id\":0"));
        opened.stream->read_until("\n\n");
        return opened;
    }
    std::string call(int id, std::string_view tool) {
        return request(id, "tools/call", fmt::format(R"({{"name":"{}"}})", tool));
    }
};

TEST_F(McpSseSession, TheStreamBeginsWithTheEndpointAndHasAllAnswers) {
    const Opened opened = open_stream();
    EXPECT_THAT(opened.endpoint, testing::MatchesRegex("/mcp/messages\\?session=[0-9a-f]{64}"));
    const Answer begun = say(opened, opening("2024-11-05"), "", 1);  // on any event loop
    EXPECT_EQ(begun.status, 202);
    EXPECT_EQ(begun.body, "");
    EXPECT_THAT(opened.stream->read_until("serverInfo"), HasSubstr(R"(event: message
data: {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2024-11-05")"));
    EXPECT_EQ(say(opened, R"({"jsonrpc":"2.0","method":"notifications/initialized"})").status, 202);
    EXPECT_EQ(say(opened, request(1, "tools/list")).status, 202);
    EXPECT_THAT(opened.stream->read_until("\"id\":1"), Not(HasSubstr("id: ")));
    EXPECT_THAT(opened.stream->read_until("\n\n"), HasSubstr(R"("name":"echo")"));
    EXPECT_EQ(say(opened, call(2, "echo"), "", 1).status, 202);
    EXPECT_THAT(opened.stream->read_until("\"id\":2") + opened.stream->read_until("\n\n"),
                HasSubstr("echo {}"));
    say(opened, request(3, "initialize"));
    EXPECT_THAT(opened.stream->read_until("\"id\":3") + opened.stream->read_until("\n\n"),
                HasSubstr("open already"));
}

TEST_F(McpSseSession, NothingButPingIsServedBeforeInitialize) {
    const Opened opened = open_stream();
    say(opened, call(1, "echo"));
    EXPECT_THAT(opened.stream->read_until("\"id\":1") + opened.stream->read_until("\n\n"),
                HasSubstr("-32600"));
    say(opened, request(2, "ping"));
    EXPECT_THAT(opened.stream->read_until("\"id\":2") + opened.stream->read_until("\n\n"),
                HasSubstr(R"("result":{})"));
    say(opened, request(3, "initialize"));
    EXPECT_THAT(opened.stream->read_until("\"id\":3") + opened.stream->read_until("\n\n"),
                HasSubstr("protocolVersion: a string"));
    say(opened, opening("2025-06-18"));
    EXPECT_THAT(opened.stream->read_until("protocolVersion") + opened.stream->read_until("\n\n"),
                HasSubstr("2025-06-18"));
}

TEST_F(McpSseSession, ASessionIsOfItsPrincipalAndOfItsTransport) {
    const Opened opened = open_session();
    const std::string id = opened.endpoint.substr(opened.endpoint.find('=') + 1);
    EXPECT_EQ(say(opened, call(1, "gate"), "Authorization: Bearer bob\r\n").status, 404);
    EXPECT_EQ(say(opened, "{", "").status, 400);
    EXPECT_EQ(say(opened, fmt::format("[{}]", request(1, "ping"))).status, 400);
    EXPECT_EQ(say(opened, request(1, "ping"), "MCP-Protocol-Version: 2025-11-25\r\n").status, 400);
    for (const std::string_view wrong : {"/mcp/messages", "/mcp/messages?session=",
                                         "/mcp/messages?session=0123", "/mcp/messages?x=y"}) {
        path = wrong;
        EXPECT_EQ(post("", request(1, "ping")).status, 404) << wrong;
    }
    path = "/mcp";
    const std::string as_header = fmt::format("Mcp-Session-Id: {}\r\n", id);
    EXPECT_EQ(post(as_header, request(1, "ping")).status, 404);
    EXPECT_EQ(ask("GET", as_header + "Accept: text/event-stream\r\n").status, 404);
    EXPECT_EQ(ask("DELETE", as_header).status, 404);
    const std::string other = ServerTest::open().substr(16, 64);
    path = "/mcp/messages?session=" + other;
    EXPECT_EQ(post("", request(1, "ping")).status, 404);
    EXPECT_EQ(gate->started, 0);
}

TEST_F(McpSseSession, TheEndOfTheStreamCancelsWhatRunsAndEndsTheSession) {
    Opened opened = open_session();
    EXPECT_EQ(say(opened, call(1, "gate"), "", 1).status, 202);
    ASSERT_TRUE(until([&] { return gate->started == 1; }));
    EXPECT_EQ(gate->cancelled, 0) << "the end of the POST's connection cancels nothing";
    opened.stream->close();
    EXPECT_TRUE(until([&] { return gate->cancelled == 1; }));
    EXPECT_TRUE(until([&] { return say(opened, request(2, "ping")).status == 404; }));
    EXPECT_EQ(state.sessions.size(), 0u);
}

TEST_F(McpSseSession, ACallIsCancelledByANotification) {
    const Opened opened = open_session();
    say(opened, call(1, "gate"));
    ASSERT_TRUE(until([&] { return gate->started == 1; }));
    say(opened, R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})",
        "", 1);
    EXPECT_TRUE(until([&] { return gate->cancelled == 1; }));
    say(opened, call(2, "echo"));
    EXPECT_THAT(opened.stream->read_until("\"id\":2"), Not(HasSubstr("\"id\":1")));
}

TEST_F(McpSseSession, TheClientIsAskedOnItsStreamAndAnswersByPost) {
    const auto asking = std::make_shared<test::AskingHost>();
    offer("ask", asking);
    const Opened opened = open_session("2025-06-18", 0, R"({"elicitation":{}})");
    say(opened, call(7, "ask"));
    const std::string asked =
        opened.stream->read_until("elicitation/create") + opened.stream->read_until("\n\n");
    const std::size_t at = asked.find("\"id\":\"crab-") + 6;
    const std::string id = asked.substr(at, asked.find('"', at) - at);
    say(opened, fmt::format(R"({{"jsonrpc":"2.0","id":"{}","result":{{"action":"accept",)"
                            R"("content":{{"n":"Ada"}}}}}})",
                            id));
    EXPECT_THAT(opened.stream->read_until("\"id\":7") + opened.stream->read_until("\n\n"),
                HasSubstr("Ada"));
}

TEST_F(McpSseSession, ChangesOfListsAreTold) {
    const Opened opened = open_session();
    offer("fresh", gate);
    EXPECT_THAT(opened.stream->read_until("list_changed"),
                HasSubstr("notifications/tools/list_changed"));
}

TEST_F(McpSseSession, ARevokedCredentialEndsItsStream) {
    const Opened opened = open_session();
    state.sessions.end_credential("of ann");
    opened.stream->read_until("\r\n0\r\n\r\n");
    EXPECT_EQ(say(opened, request(1, "ping")).status, 404);
}

TEST_F(McpSseSession, APrincipalHasAsManyAsItMayAndNoMore) {
    std::vector<Opened> all;
    for (std::size_t i = 0; i < 40; ++i) all.push_back(open_stream("", i % 2));
    EXPECT_LE(state.sessions.size(), 4u);
    EXPECT_EQ(say(all.back(), request(1, "ping")).status, 202);
    all.front().stream->read_until("\r\n0\r\n\r\n");  // it was ended
    const Opened other = open_stream("Authorization: Bearer bob\r\n");
    EXPECT_EQ(say(all.back(), request(1, "ping")).status, 202) << "nobody else's ends";
}

TEST_F(McpSseSession, WhoDoesNotReadIsEndedAndNothingIsLeftOfIt) {
    const Opened opened = open_session();
    bool ended = false;
    for (int i = 1; i < 200 && !ended; ++i)
        ended = say(opened, call(i, "large"), "", static_cast<std::size_t>(i % 2)).status == 404;
    EXPECT_TRUE(ended) << "100 KiB each, of which it has read none";
    EXPECT_TRUE(until([&] { return state.sessions.size() == 0; }));
    const Opened next = open_session();
    say(next, call(1, "large"));
    EXPECT_THAT(next.stream->read_until("\"id\":1"), HasSubstr("\"id\":1"));
}

TEST_F(McpSseSession, WithoutEventsThereIsNoStream) {
    path = "/mcp/sse";
    EXPECT_EQ(ask("GET", "Accept: application/json\r\n").status, 406);
    EXPECT_EQ(post("", opening("2024-11-05")).status, 404) << "no scope; clients then use GET";
    EXPECT_EQ(state.sessions.size(), 0u);
}

struct McpWithoutSse : test::ServerTest {};

TEST_F(McpWithoutSse, ItIsNotThereUnlessItIsWanted) {
    path = "/mcp/sse";
    EXPECT_EQ(ask("GET", "Accept: text/event-stream\r\n").status, 404);
    path = "/mcp/messages?session=" + std::string(64, '0');
    EXPECT_EQ(post("", request(1, "ping")).status, 404);
}

}  // namespace
}  // namespace crab::mcp
