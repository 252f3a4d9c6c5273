#include "adapters/mcp/upstreams/outcome.hpp"

#include "adapters/mcp/wire/result.hpp"
#include "json/raw_parts.hpp"
#include "json/schema/schema.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace crab::mcp {
namespace {

CallReply gave(std::string result) { return {.reply = std::move(result), .era = Era::kModern}; }
CallReply refused(std::int64_t code, std::string data = {}) {
    return {.reply = std::unexpected(
                RpcError{.code = code, .message = "said so", .data = std::move(data)}),
            .era = Era::kModern};
}
ReplyContext context(const UpstreamTool* tool = nullptr) {
    return {.source = "files", .method = "tools/call", .tool = tool, .answers = {}};
}
UpstreamTool checked(OutputCheck check) {
    return {.name = "t",
            .params = {},
            .output = json::Schema::compile(R"({"type":"object","required":["n"]})").value(),
            .check = check};
}

TEST(McpOutcome, AResultIsAnObjectOfItsOwnMediaTypeWithoutItsFrame) {
    const auto outcome = outcome_of(gave(R"({"resultType":"complete","content":[{"type":"text",)"
                                         R"("text":"hi"}],"_meta":{"a":1}})"),
                                    context());
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->kind, core::ContentKind::kJson);
    EXPECT_EQ(outcome->content_type, kMcpResultType);
    EXPECT_EQ(outcome->content, R"({"content":[{"type":"text","text":"hi"}]})");
}

TEST(McpOutcome, AnErrorResultIsAFailureWithTheObjectInItsDetails) {
    const auto outcome = outcome_of(
        gave(R"({"content":[{"type":"text","text":"no disk"}],"isError":true})"), context());
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::kToolFailed);
    EXPECT_EQ(outcome.error().message, "no disk");
    EXPECT_TRUE(is_error_result(outcome.error().details));
    EXPECT_FALSE(outcome.error().may_retry());
}

TEST(McpOutcome, ErrorsThatPassAreInTheDetailsAndTheGatewaysOwnAreNot) {
    const Error passed = outcome_of(refused(-32602, R"({"x":1})"), context()).error();
    EXPECT_EQ(passed.code, ErrorCode::kToolFailed);
    EXPECT_EQ(json::find_raw(passed.details, kPassedError),
              R"({"code":-32602,"message":"said so","data":{"x":1}})");
    for (const std::int64_t code : {-32020, -32022, -32000, -32019, -32700, -32600, -32601}) {
        const Error own = outcome_of(refused(code), context()).error();
        EXPECT_EQ(own.code, ErrorCode::kToolFailed) << code;
        EXPECT_EQ(own.details, "") << code;
    }
}

TEST(McpOutcome, AMissingCapabilityPassesUnlessTheClientHasIt) {
    const auto reply = refused(-32021, R"({"requiredCapabilities":{"sampling":{}}})");
    ReplyContext without = context(), with = context();
    with.answers.sampling = true;
    EXPECT_NE(outcome_of(reply, without).error().details, "");
    EXPECT_EQ(outcome_of(reply, with).error().details, "");
}

TEST(McpOutcome, AResourceThatIsNotThereIsNotFoundInBothEras) {
    ReplyContext read = context();
    read.method = "resources/read";
    EXPECT_EQ(outcome_of(refused(-32602, R"({"uri":"a:b"})"), read).error().code,
              ErrorCode::kNotFound);
    CallReply legacy = refused(-32002);
    legacy.era = Era::kLegacy;
    EXPECT_EQ(outcome_of(legacy, read).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(outcome_of(refused(-32602), read).error().code, ErrorCode::kToolFailed);
}

TEST(McpOutcome, AResultThatBreaksItsSchemaPassesWithAWarningOrFailsOrIsNotLookedAt) {
    const std::string bad = R"({"content":[],"structuredContent":{"m":1}})";
    const UpstreamTool warn = checked(OutputCheck::kWarn), strict = checked(OutputCheck::kStrict),
                       off = checked(OutputCheck::kOff);
    std::vector<std::string> told;
    const auto telling = [&](const UpstreamTool& tool) {
        ReplyContext made = context(&tool);
        made.on_off_schema = [&](std::string_view why) { told.emplace_back(why); };
        return made;
    };
    EXPECT_TRUE(outcome_of(gave(bad), context(&warn)));
    EXPECT_TRUE(outcome_of(gave(bad), telling(off)));
    EXPECT_FALSE(outcome_of(gave(bad), telling(strict)));
    EXPECT_TRUE(outcome_of(gave(R"({"content":[],"structuredContent":{"n":1}})"), telling(warn)));
    EXPECT_TRUE(told.empty());
    EXPECT_TRUE(outcome_of(gave(bad), telling(warn)));
    EXPECT_EQ(told.size(), 1u) << "one that passes all the same";
    EXPECT_FALSE(outcome_of(gave(R"({"content":[]})"), context(&strict)))
        << "missing is a violation";
    EXPECT_TRUE(
        outcome_of(gave(R"({"content":[],"structuredContent":{"n":1}})"), context(&strict)));
    const auto failed = outcome_of(gave(R"({"content":[],"isError":true})"), context(&strict));
    EXPECT_EQ(failed.error().message, "the tool failed and did not say why") << "not checked";
}

TEST(McpOutcome, AnUnknownResultTypeIsAFailure) {
    EXPECT_FALSE(outcome_of(gave(R"({"resultType":"other"})"), context()));
}

}  // namespace
}  // namespace crab::mcp
