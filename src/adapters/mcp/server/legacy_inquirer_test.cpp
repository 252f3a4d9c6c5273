#include "adapters/mcp/server/legacy_inquirer.hpp"

#include "adapters/mcp/server/test_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using testing::HasSubstr;
using testing::Not;

struct McpLegacyInquirer : test::ServerTest {
    explicit McpLegacyInquirer(Milliseconds patience = std::chrono::minutes(10))
        : ServerTest([&] {
              ServerOptions options = quiet();
              options.input_wait = patience;
              return options;
          }()) {
        offer("ask", host);
    }
    std::unique_ptr<test::RawClient> call(const std::string& session, std::string_view more = {}) {
        return begin("POST", fmt::format("Content-Type: application/json\r\n{}{}", session, more),
                     request(7, "tools/call", R"({"name":"ask"})"));
    }
    std::shared_ptr<test::AskingHost> host = std::make_shared<test::AskingHost>();
    static constexpr std::string_view kForms = R"({"elicitation":{}})";
};

TEST_F(McpLegacyInquirer, AQuestionIsARequestOnTheStreamAndItsAnswerAPostOfItsOwn) {
    const std::string session = open("2025-11-25", kForms);
    const auto client = call(session);
    const std::string asked = client->read_until("\"required\":[\"n\"]}}}\n\n");
    EXPECT_THAT(asked, HasSubstr(R"("id":"crab-1","method":"elicitation/create")"));
    EXPECT_THAT(asked, HasSubstr(R"("mode":"form")"));
    // on another event loop, and in another session first, where nobody waits for it
    const std::string answer =
        R"({"jsonrpc":"2.0","id":"crab-1","result":{"action":"accept","content":{"n":"x"}}})";
    EXPECT_EQ(post(open("2025-11-25", kForms), answer).status, 202);
    EXPECT_EQ(host->ended, 0);
    EXPECT_EQ(post(session, answer, 1).status, 202);
    EXPECT_THAT(client->read_until("\r\n0\r\n\r\n"), HasSubstr(R"({\"action\":\"accept\")"));
    EXPECT_EQ(post(session, answer).status, 202) << "a second answer is dropped";
    audit.flush_and_wait();
    EXPECT_THAT(records->records().back(), HasSubstr(R"("input_rounds":1,)"));
}

TEST_F(McpLegacyInquirer, WhoHasNotDeclaredItIsNotAsked) {
    EXPECT_THAT(call(open())->read_until("\r\n0\r\n\r\n"), HasSubstr("nobody"));
    EXPECT_THAT(call(open("2025-03-26", kForms))->read_until("\r\n0\r\n\r\n"), HasSubstr("nobody"));
    EXPECT_THAT(call(open("2025-11-25", kForms), "Accept: application/json\r\n")->read_response(),
                HasSubstr("nobody"));
    EXPECT_EQ(host->asked, 0);
}

TEST_F(McpLegacyInquirer, OlderVersionsAreAskedInTheirForm) {
    const auto client = call(open("2025-06-18", kForms));
    EXPECT_THAT(client->read_until("\"required\":[\"n\"]}}}\n\n"), Not(HasSubstr("mode")));
}

TEST_F(McpLegacyInquirer, AnErrorOrAnAnswerThatDoesNotFitFailsTheQuestion) {
    for (const std::string_view answer :
         {R"("error":{"code":-1,"message":"no"})", R"("result":{"action":"accept","content":{}})",
          R"("result":{"action":"perhaps"})",
          R"("result":{"action":"accept","content":{"n":"x","n":7}})"}) {
        const std::string session = open("2025-11-25", kForms);
        const auto client = call(session);
        client->read_until("\"required\":[\"n\"]}}}\n\n");
        post(session, fmt::format(R"({{"jsonrpc":"2.0","id":"crab-1",{}}})", answer));
        EXPECT_THAT(client->read_until("\r\n0\r\n\r\n"), HasSubstr("TOOL_FAILED"));
    }
}

TEST_F(McpLegacyInquirer, ACancelledCallTakesItsQuestionBack) {
    const std::string session = open("2025-11-25", kForms);
    const auto client = call(session);
    client->read_until("\"required\":[\"n\"]}}}\n\n");
    post(session, R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
                  R"("params":{"requestId":7}})");
    EXPECT_THAT(client->read_until("\r\n0\r\n\r\n"),
                HasSubstr(R"("notifications/cancelled","params":{"requestId":"crab-1"})"));
    EXPECT_TRUE(until([&] { return host->cancelled == 1; }));
}

TEST_F(McpLegacyInquirer, LogMessagesFollowTheLevelOfTheSession) {
    const std::string session = open();
    EXPECT_THAT(call(session)->read_until("\r\n0\r\n\r\n"),
                HasSubstr(R"("notifications/message","params":{"level":"warning",)"
                          R"("logger":"asker","data":{"about":"asking"}})"));
    post(session, request(1, "logging/setLevel", R"({"level":"error"})"));
    EXPECT_THAT(call(session)->read_response(), Not(HasSubstr("notifications/message")));
    // modern clients say it with each request
    const std::string fields = modern_fields("tools/call", "ask");
    const auto logs = [&](std::string_view meta) {
        return begin("POST", fields, modern_body("tools/call", R"("name":"ask")", meta));
    };
    EXPECT_THAT(logs("")->read_response(), Not(HasSubstr("notifications/message")));
    const std::string all =
        logs(R"(,"io.modelcontextprotocol/logLevel":"debug")")->read_until("\r\n0\r\n\r\n");
    EXPECT_THAT(all, HasSubstr(R"({"level":"debug","data":"unwanted"})"));
    EXPECT_THAT(logs(R"(,"io.modelcontextprotocol/logLevel":"loud")")->read_response(),
                HasSubstr("-32602"));
}

struct McpLegacyInquirerWithoutPatience : McpLegacyInquirer {
    McpLegacyInquirerWithoutPatience() : McpLegacyInquirer(Milliseconds(30)) {}
};

TEST_F(McpLegacyInquirerWithoutPatience, SilenceCancelsAForm) {
    EXPECT_THAT(call(open("2025-11-25", kForms))->read_until("\r\n0\r\n\r\n"),
                HasSubstr(R"({\"action\":\"cancel\"})"));
}

}  // namespace
}  // namespace crab::mcp
