#include "core/pipeline/result_check.hpp"

#include "base/test_clock.hpp"
#include "core/call/test_tools.hpp"

#include <gtest/gtest.h>

namespace crab::core {
namespace {

TEST(ResultCheck, AnotherProtocolsObjectGetsNoOperationId) {
    const FakeClock clock;
    IdSource ids(clock, 1);
    ResultCheck check(ids);
    ToolSpec spec;
    spec.side_effects = true;
    const auto tool = tool_of("echo", "phone", ConnectionId{1}, {}, spec);
    CallRules rules;
    rules.operation_ids = true;
    ToolResult result;
    result.kind = ContentKind::kJson;
    result.content = R"({"content":[]})";
    const auto checked = [&] { return (*check.check(*tool, Outcome(result), rules))->content; };
    EXPECT_TRUE(checked().starts_with(R"({"operation_id":")"));
    result.content_type = "application/vnd.mcp.result+json";
    EXPECT_EQ(checked(), R"({"content":[]})");
}

TEST(ResultCheck, AFailureWithoutAWordGetsASentence) {
    const FakeClock clock;
    IdSource ids(clock, 1);
    ResultCheck check(ids);
    const auto tool = tool_of("echo", "phone", ConnectionId{1}, {}, {});
    const auto said = [&](std::string message) {
        Outcome failed = fail(ErrorCode::kToolFailed, std::move(message));
        return check.check(*tool, std::move(failed), {})->error().message;
    };
    EXPECT_EQ(said(""), "the tool failed and did not say why");
    EXPECT_EQ(said(" \n"), "the tool failed and did not say why");
    EXPECT_EQ(said("no paper"), "no paper");
}

}  // namespace
}  // namespace crab::core
