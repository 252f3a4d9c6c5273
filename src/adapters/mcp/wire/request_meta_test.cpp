#include "adapters/mcp/wire/request_meta.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

/// Params with a modern `_meta` of these members.
RequestMeta meta(std::string_view members) {
    static std::string params;  // what is read has views into it
    params = fmt::format(R"({{"name":"t","_meta":{{{}}}}})", members);
    return read_request_meta(params);
}

std::int64_t refused(const RequestMeta& read, std::optional<std::string_view> header,
                     Carrier carrier = Carrier::kHttp) {
    const auto checked = check_modern_request(read, carrier, header, RevisionSet());
    return checked ? 0 : checked.error().code;
}

constexpr std::string_view kWhole =
    R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientCapabilities":{"elicitation":{ }})";

TEST(McpRequestMeta, WhatItSaysIsRead) {
    const RequestMeta read = meta(
        std::string(kWhole) +
        R"(,"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},)"
        R"("io.modelcontextprotocol/logLevel":"info","progressToken":7,"traceparent":"00-a-b-01",)"
        R"("crab/idempotencyKey":"k","crab/timeoutMs":1500)");
    EXPECT_TRUE(read.names_version);
    EXPECT_EQ(read.version, "2026-07-28");
    EXPECT_EQ(read.capabilities, R"({"elicitation":{ }})");
    EXPECT_EQ(read.client_info, R"({"name":"c","version":"1"})");
    EXPECT_EQ(read.log_level, "info");
    EXPECT_EQ(read.progress_token, RequestId(7));
    EXPECT_EQ(read.traceparent, "00-a-b-01");
    EXPECT_EQ(read.idempotency_key, "k");
    EXPECT_EQ(read.timeout_ms, 1500);
    EXPECT_EQ(meta(R"("progressToken":"7")").progress_token, RequestId("7"));
}

TEST(McpRequestMeta, WhatStandsBesideItIsFoundOnTheWay) {
    const RequestMeta read = read_request_meta(
        R"({"name":"t\u0041","requestState":"s\"1","_meta":{"name":"no","requestState":"no"},)"
        R"("inputResponses":{"k":{}},"arguments":{"name":"no","a":[1 ,2]},"name":"second"})");
    EXPECT_EQ(read.beside.name, R"("t\u0041")") << "the first of two, as everywhere";
    EXPECT_EQ(read.beside.arguments, R"({"name":"no","a":[1 ,2]})");
    EXPECT_EQ(read.beside.request_state, R"("s\"1")");
    EXPECT_EQ(read.beside.input_responses, R"({"k":{}})");
    const RequestMeta other = read_request_meta(R"({"name":7,"\u0061rguments":null})");
    EXPECT_EQ(other.beside.name, "7");
    EXPECT_EQ(other.beside.arguments, "null") << "names are compared without their escapes";
    EXPECT_TRUE(other.beside.request_state.empty());
}

TEST(McpRequestMeta, MembersOfOtherTypesSayNothing) {
    const RequestMeta read = meta(
        R"("io.modelcontextprotocol/clientCapabilities":[],"io.modelcontextprotocol/logLevel":3,)"
        R"("progressToken":null)");
    EXPECT_FALSE(read.names_version);
    EXPECT_EQ(read.capabilities, "");
    EXPECT_EQ(read.log_level, "");
    EXPECT_EQ(read.progress_token, std::nullopt);
    EXPECT_FALSE(read_request_meta("").names_version);
    EXPECT_FALSE(read_request_meta(R"({"_meta":7})").names_version);
    EXPECT_TRUE(meta(R"("io.modelcontextprotocol/protocolVersion":7)").names_version);
}

TEST(McpRequestMeta, AKeyOrATimeThatCannotBeMeantIsWrong) {
    for (const std::string& key : {std::string("k"), std::string(256, 'k')}) {
        const RequestMeta read = meta(fmt::format(R"("crab/idempotencyKey":"{}")", key));
        EXPECT_EQ(read.wrong, "") << key;
        EXPECT_EQ(read.idempotency_key, key);
    }
    std::string letters;
    for (int i = 0; i < 256; ++i) letters += "\u00e9";
    EXPECT_EQ(meta(fmt::format(R"("crab/idempotencyKey":"{}")", letters)).wrong, "");
    for (const std::string& key : {std::string("7"), std::string("null"), std::string("\"\""),
                                   '"' + letters + "e\"", '"' + std::string(257, 'k') + '"'})
        EXPECT_THAT(meta("\"crab/idempotencyKey\":" + key).wrong,
                    testing::StartsWith("crab/idempotencyKey"))
            << key;
    for (const std::string_view time : {"0", "-5", "1.5", "\"9\"", "null"})
        EXPECT_THAT(meta(fmt::format(R"("crab/timeoutMs":{})", time)).wrong,
                    testing::StartsWith("crab/timeoutMs"))
            << time;
}

TEST(McpRequestMeta, VersionAndCapabilitiesAreRequiredAndTheNameOfTheClientIsNot) {
    EXPECT_EQ(refused(meta(kWhole), "2026-07-28"), 0);
    EXPECT_EQ(refused(meta(""), "2026-07-28"), -32602);
    EXPECT_EQ(
        refused(meta(R"("io.modelcontextprotocol/protocolVersion":"2026-07-28")"), "2026-07-28"),
        -32602);
    EXPECT_EQ(refused(meta(R"("io.modelcontextprotocol/protocolVersion":7)"), "7"), -32602);
}

TEST(McpRequestMeta, TheHeaderEqualsTheVersionEvenIfThatIsNotSpoken) {
    EXPECT_EQ(refused(meta(kWhole), std::nullopt), -32020);
    EXPECT_EQ(refused(meta(kWhole), "2025-11-25"), -32020);
    EXPECT_EQ(refused(meta(kWhole), " 2026-07-28\t"), 0);
    EXPECT_EQ(
        refused(meta(R"("io.modelcontextprotocol/protocolVersion":"1900-01-01")"), "2026-07-28"),
        -32020);
    EXPECT_EQ(refused(meta(kWhole), std::nullopt, Carrier::kStdio), 0) << "stdio has no headers";
}

TEST(McpRequestMeta, AVersionThatIsNotSpokenIsToldWithThoseThatAre) {
    const auto checked =
        check_modern_request(meta(R"("io.modelcontextprotocol/protocolVersion":"1900-01-01")"),
                             Carrier::kHttp, "1900-01-01", RevisionSet());
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, -32022);
    EXPECT_EQ(checked.error().data,
              R"({"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],)"
              R"("requested":"1900-01-01"})");
    const auto legacy =
        check_modern_request(meta(R"("io.modelcontextprotocol/protocolVersion":"2025-11-25")"),
                             Carrier::kHttp, "2025-11-25", RevisionSet());
    EXPECT_EQ(legacy.error().code, -32022);
    EXPECT_TRUE(legacy.error().message.contains("initialize")) << legacy.error().message;
}

}  // namespace
}  // namespace crab::mcp
