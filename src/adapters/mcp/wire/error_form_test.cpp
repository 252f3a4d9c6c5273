#include "adapters/mcp/wire/error_form.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using namespace std::chrono_literals;

std::string result_of(const Error& error, Revision revision = Revision::k2025_11_25) {
    std::string out;
    append_error_result(out, error, {.revision = revision});
    return out;
}

TEST(McpErrorForm, EveryCodeHasTheFormOfThePage) {
    for (const ErrorCode code : all_error_codes()) {
        const ErrorForm form = form_of(code);
        if (code == ErrorCode::kToolNotFound || code == ErrorCode::kNotFound) {
            EXPECT_EQ(form.shape, ErrorShape::kRpcError) << token_of(code);
        } else if (code == ErrorCode::kUnauthenticated || code == ErrorCode::kPairingRequired) {
            EXPECT_EQ(form.shape, ErrorShape::kHttpStatus) << token_of(code);
            EXPECT_EQ(form.http_status, code == ErrorCode::kUnauthenticated ? 401 : 403);
        } else {
            EXPECT_EQ(form.shape, ErrorShape::kToolResult) << token_of(code);
            EXPECT_EQ(form.http_status, 200);
        }
    }
}

TEST(McpErrorForm, AFailedCallSaysWhatFailedAndWhatToDo) {
    const std::string text = result_of(
        {.code = ErrorCode::kInvalidArgs, .message = "/a has to be a string", .details = {}});
    EXPECT_TRUE(text.starts_with(
        R"({"content":[{"type":"text","text":"/a has to be a string\nMend the value)"))
        << text;
    EXPECT_TRUE(
        text.ends_with(R"("isError":true,)"
                       R"("_meta":{"crab/error":{"code":"INVALID_ARGS","retryable":false}}})"))
        << text;
}

TEST(McpErrorForm, WhatMayHelpLaterSaysWhen) {
    for (const ErrorCode code :
         {ErrorCode::kRateLimited, ErrorCode::kUnavailable, ErrorCode::kAlreadyInProgress})
        EXPECT_TRUE(result_of({.code = code, .message = "m", .details = {}})
                        .contains(R"("retryable":true,"retry_after_ms":1000)"))
            << token_of(code);
    const Error limited{.code = ErrorCode::kRateLimited,
                        .message = "m",
                        .details = R"({"limit":5})",
                        .retryable = {},
                        .retry_after = 250ms};
    EXPECT_TRUE(result_of(limited).contains(R"("retry_after_ms":250,"details":{"limit":5}})"));
}

TEST(McpErrorForm, AnUnknownOutcomeWarnsOfRepeatingIt) {
    const std::string text =
        result_of({.code = ErrorCode::kOutcomeUnknown, .message = "no answer", .details = {}});
    EXPECT_TRUE(text.contains("It may have run: do not simply repeat it")) << text;
    EXPECT_TRUE(text.contains(R"("code":"OUTCOME_UNKNOWN","retryable":false)")) << text;
}

TEST(McpErrorForm, AnUpstreamsOwnErrorKeepsItsContent) {
    const Error failed{.code = ErrorCode::kToolFailed,
                       .message = "boom",
                       .details = R"({"content":[{"type":"text","text":"boom"},)"
                                  R"({"type":"image","data":"QQ==","mimeType":"image/png"}],)"
                                  R"("isError":true,"structuredContent":{"a":1}})"};
    EXPECT_EQ(result_of(failed),
              R"({"content":[{"type":"text","text":"boom"},)"
              R"({"type":"image","data":"QQ==","mimeType":"image/png"}],"isError":true,)"
              R"("structuredContent":{"a":1},)"
              R"("_meta":{"crab/error":{"code":"TOOL_FAILED","retryable":false}}})");
    EXPECT_TRUE(result_of(failed, Revision::k2026_07_28).contains(R"("resultType":"complete")"));
}

TEST(McpErrorForm, RpcErrorsCarryTheTokenAndTheUri) {
    EXPECT_EQ(
        rpc_error({.code = ErrorCode::kToolNotFound, .message = "no tool x", .details = {}}),
        (RpcError{.code = -32602, .message = "no tool x", .data = R"({"code":"TOOL_NOT_FOUND"})"}));
    const RpcError legacy = resource_not_found("a:b", "no", Revision::k2025_11_25);
    EXPECT_EQ(legacy.code, -32002);
    EXPECT_EQ(legacy.data, R"({"code":"NOT_FOUND","uri":"a:b"})");
    EXPECT_EQ(resource_not_found("a:b", "no", Revision::k2026_07_28).code, -32602);
}

TEST(McpErrorForm, StatusesAreThoseOfThePage) {
    for (const std::int64_t code : {-32700, -32600, -32020, -32021, -32022})
        EXPECT_EQ(http_status_of(code), 400) << code;
    EXPECT_EQ(http_status_of(-32601), 404);
    for (const std::int64_t code : {-32602, -32603, -32002, -32042, 1})
        EXPECT_EQ(http_status_of(code), 200) << code;
}

}  // namespace
}  // namespace crab::mcp
