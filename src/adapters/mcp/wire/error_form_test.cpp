#include "adapters/mcp/wire/error_form.hpp"

#include "json/value.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace crab::mcp {
namespace {

using namespace std::chrono_literals;

std::string result_of(const Error& error, Revision revision = Revision::k2025_11_25) {
    std::string out;
    append_error_result(out, error, {.revision = revision});
    return out;
}

TEST(McpErrorForm, EveryCodeHasTheFormThatSpecErrorsSays) {
    const std::ifstream file(CRAB_SOURCE_DIR "/spec/errors.json");
    std::stringstream text;
    text << file.rdbuf();
    const json::Value spec = json::Value::parse(text.str()).value();
    const auto name_of_form = [](const ErrorForm& form) -> std::string {
        switch (form.shape) {
            case ErrorShape::kRpcError: return std::to_string(rpc_code::kInvalidParams);
            case ErrorShape::kHttpStatus: return "HTTP " + std::to_string(form.http_status);
            case ErrorShape::kToolResult: return "isError result";
        }
        return {};
    };
    const auto& codes = *spec.find("codes")->as_array();
    EXPECT_EQ(codes.size(), all_error_codes().size());
    for (const json::Value& entry : codes) {
        const std::string& token = *entry.find("token")->as_string();
        EXPECT_EQ(name_of_form(form_of(*find_error_code(token))), *entry.find("mcp")->as_string())
            << token;
    }
}

TEST(McpErrorForm, AFailedCallSaysWhatFailedAndWhatToDo) {
    const std::string text = result_of(
        {.code = ErrorCode::kInvalidArgs, .message = "/a has to be a string", .details = {}});
    EXPECT_TRUE(text.starts_with(R"({"content":[{"type":"text","text":"/a has to be a string\n)" +
                                 std::string(next_step(ErrorCode::kInvalidArgs)) + "\"}]"))
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
