#include "adapters/rtp/calls/call_wire.hpp"
#include "adapters/rtp/wire/call_reply.hpp"
#include "adapters/rtp/wire/call_request.hpp"

#include <gtest/gtest.h>

namespace crab::rtp {
namespace {

TEST(CallRequest, IsWhatTheOtherHalfReads) {
    std::string body;
    append_call_request(body, {.call_id = "c1",
                               .tool = "disk \"usage\"",
                               .tenant = "t",
                               .args = R"({"a":1})",
                               .timeout_ms = 1'500,
                               .idempotency_key = "k",
                               .context = {.agent_id = "a", .session_id = "s", .platform = "cli"}});
    json::Parser parser;
    std::string texts;
    core::Call call;
    const auto parsed = parse_call_request(body, parser, texts, call);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(call.id, "c1");
    EXPECT_EQ(call.tool, "disk \"usage\"");
    EXPECT_EQ(call.tenant, "t");
    EXPECT_EQ(call.args, R"({"a":1})");
    EXPECT_EQ(call.timeout, Milliseconds(1'500));
    EXPECT_EQ(call.idempotency_key, "k");
    EXPECT_EQ(call.context.platform, "cli");
    EXPECT_EQ(call.context.trace_id.data(), nullptr) << "what nobody gave is left out";
}

TEST(CallRequest, ACancelIsWhatTheOtherHalfReads) {
    std::string body;
    append_cancel_request(body, "t", "c1", CancelReason::kTimeout);
    json::Parser parser;
    std::string texts;
    const auto parsed = parse_cancel_request(body, parser, texts);
    ASSERT_TRUE(parsed) << parsed.error();
    EXPECT_EQ(parsed->call_id, "c1");
    EXPECT_EQ(parsed->reason, "timeout");
}

TEST(CallReply, WhatIsThereIsReadAlthoughARuleIsBroken) {
    json::Parser parser;
    const auto root = parser.parse(
        R"({"call_id":"c1","tool_name":7,"status":"error","duration_ms":3,"new":true,)"
        R"("logs":["one",2],"error":{"code":"TIMEOUT","message":5,"retryable":true}})");
    ASSERT_TRUE(root);
    const ReplyParts parts = read_reply(root->element());
    EXPECT_EQ(parts.broken_rule, "it has a member that the schema does not know");
    EXPECT_EQ(parts.call_id, "c1");
    EXPECT_EQ(parts.tool, std::nullopt);
    EXPECT_EQ(parts.status, "error");
    EXPECT_EQ(parts.duration_ms, 3);
    EXPECT_EQ(parts.code, "TIMEOUT");
    EXPECT_EQ(parts.message, "");
    EXPECT_EQ(parts.retryable, true);
    EXPECT_EQ(parts.logs, std::vector<std::string>{"one"});
}

TEST(CallReply, TheOtherHalfBreaksNoRule) {
    std::string body;
    core::ToolResult result;
    result.content = "text";
    append_call_response(body, "c1", "tool", 12, core::Outcome(result));
    json::Parser parser;
    const auto root = parser.parse(body);
    ASSERT_TRUE(root);
    const ReplyParts parts = read_reply(root->element());
    EXPECT_EQ(parts.broken_rule, "");
    EXPECT_EQ(parts.status, "ok");
    ASSERT_TRUE(parts.result);
    EXPECT_EQ(json::to_text(*parts.result), R"({"text":"text"})");
}

}  // namespace
}  // namespace crab::rtp
