#include "adapters/mcp/server/client_approver.hpp"

#include "adapters/mcp/server/test_support.hpp"
#include "json/raw_parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The tool `echo` needs an approval.
struct McpClientApprover : test::ServerTest {
    explicit McpClientApprover(bool owners = true) : ServerTest(quiet(), owners) {
        core::CallRules set = *rules.get();
        set.policy = core::Policy::make({{.call_needs_approval = core::globs({"echo"})}}).value();
        rules.set(std::make_shared<const core::CallRules>(set));
    }
    std::unique_ptr<test::RawClient> call(const std::string& session) {
        return begin("POST", fmt::format("Content-Type: application/json\r\n{}", session),
                     request(7, "tools/call", R"({"name":"echo","arguments":{"to":"Bob"}})"));
    }
    std::string modern_call(std::string_view more = {}) {
        return ask("POST", modern_fields("tools/call", "echo"),
                   fmt::format(
                       R"({{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"_meta":{{)"
                       R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                       R"("io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}}}}}},)"
                       R"("name":"echo","arguments":{{"to":"Bob"}}{}}}}})",
                       more))
            .body;
    }
    static std::string word(std::string_view result) {
        return fmt::format(R"({{"jsonrpc":"2.0","id":"crab-1","result":{}}})", result);
    }
    static constexpr std::string_view kForms = R"({"elicitation":{}})";
    static constexpr const char* kAllow = R"({"action":"accept","content":{"approve":true}})";
};
struct McpOperatorsApprove : McpClientApprover {
    McpOperatorsApprove() : McpClientApprover(false) {}
};

TEST_F(McpClientApprover, ThePersonAtALegacyClientIsShownTheCallAndAllowsIt) {
    const std::string session = open("2025-11-25", kForms);
    const auto client = call(session);
    const std::string asked = client->read_until("\"approve\"]}}}\n\n");
    EXPECT_THAT(asked, HasSubstr("[crab] May phone__echo of device/phone run"));
    EXPECT_THAT(asked, HasSubstr(R"({\"to\":\"Bob\"})"));
    EXPECT_EQ(post(session, word(kAllow)).status, 202);
    EXPECT_THAT(client->read_until("\r\n0\r\n\r\n"), HasSubstr("echo {"));
}

TEST_F(McpClientApprover, NoIsAWordToo) {
    for (const std::string_view no :
         {R"({"action":"decline"})", R"({"action":"accept","content":{"approve":false}})"}) {
        const std::string session = open("2025-06-18", kForms);
        const auto client = call(session);
        client->read_until("\"approve\"]}}}\n\n");
        post(session, word(no));
        const std::string end = client->read_until("\r\n0\r\n\r\n");
        EXPECT_THAT(end, HasSubstr("isError"));
        EXPECT_THAT(end, Not(HasSubstr("echo {")));
    }
}

TEST_F(McpClientApprover, AModernClientIsAskedByItsResult) {
    const std::string body = modern_call();
    EXPECT_THAT(body, HasSubstr(R"("crab_approval":{"method":"elicitation/create")"));
    const auto result = json::find_raw(body, "result").value_or("");
    const auto state = json::find_raw_string(result, "requestState").value_or("");
    EXPECT_THAT(
        modern_call(fmt::format(R"(,"requestState":"{}","inputResponses":{{"crab_approval":{}}})",
                                state, kAllow)),
        HasSubstr("echo {"));
}

TEST_F(McpClientApprover, AnOperatorsWordComesFirst) {
    const core::Approvals::Watch watch(*approvals);
    const std::string session = open("2025-11-25", kForms);
    const auto client = call(session);
    client->read_until("\"approve\"]}}}\n\n");
    ASSERT_TRUE(approvals->answer(approvals->list().back().question->id, true, "operator/x"));
    const std::string rest = client->read_until("\r\n0\r\n\r\n");
    EXPECT_THAT(rest, HasSubstr("notifications/cancelled")) << "the form goes";
    EXPECT_THAT(rest, HasSubstr("echo {"));
}

TEST_F(McpClientApprover, WhoCannotBeAskedIsNot) {
    const std::string refused = modern("tools/call", R"("name":"echo")", "echo").body;
    EXPECT_THAT(refused, HasSubstr("APPROVAL_REQUIRED"));
}

TEST_F(McpOperatorsApprove, TheClientIsToldThatItsCallWaits) {
    const core::Approvals::Watch watch(*approvals);
    const std::string session = open("2025-11-25");
    const auto client =
        begin("POST", fmt::format("Content-Type: application/json\r\n{}", session),
              request(7, "tools/call",
                      R"({"name":"echo","arguments":{},"_meta":{"progressToken":"t"}})"));
    const std::string told = client->read_until("waits for approval ");
    EXPECT_THAT(told, HasSubstr(R"("method":"notifications/progress")"));
    EXPECT_THAT(told, HasSubstr(R"("progressToken":"t")"));
    const std::string id = approvals->list().back().question->id;
    ASSERT_TRUE(approvals->answer(id, true, "operator/x"));
    const std::string rest = client->read_until("\r\n0\r\n\r\n");
    EXPECT_THAT(rest, HasSubstr(id));
    EXPECT_THAT(rest, HasSubstr("echo {"));
}

TEST_F(McpOperatorsApprove, TheClientIsNotAsked) {
    EXPECT_THAT(modern_call(), HasSubstr("APPROVAL_REQUIRED"));
}

}  // namespace
}  // namespace crab::mcp
