#include "adapters/rtp/calls/call_wire.hpp"

#include "json/value.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace crab::rtp {
namespace {

using json::Value;
using testing::HasSubstr;

constexpr std::string_view kGood =
    R"({"version":"v1","call_id":"c7","tool_name":"memory.query","tenant_id":"t",)"
    R"("args":{"limit":5},"context":{"agent_id":"a","session_id":"s"}})";

/// A request made by changing the good one: members set to a JSON text, or left out where that is
/// empty.
std::string request_with(const std::vector<std::pair<std::string, std::string>>& changes) {
    Value request = Value::parse(kGood).value();
    for (const auto& [pointer, text] : changes) {
        const std::size_t slash = pointer.find('/', 1);
        Value& object =
            slash == std::string::npos ? request : *request.find(pointer.substr(1, slash - 1));
        const std::string name = pointer.substr(slash == std::string::npos ? 1 : slash + 1);
        if (text.empty()) {
            object.erase(name);
        } else {
            object.set(name, Value::parse(text).value());
        }
    }
    return request.dump();
}

class CallWireTest : public testing::Test {
protected:
    /// The refusal of `body`, status 0 when it is none.
    CallRefusal refusal(std::string body) {
        body_ = std::move(body);
        core::Call call;
        std::string texts;
        const auto parsed = parse_call_request(body_, parser_, texts, call);
        return parsed ? CallRefusal{0, ""} : parsed.error();
    }
    std::string cancel_refusal(std::string body) {
        std::string texts;
        const auto parsed = parse_cancel_request(body, parser_, texts);
        return parsed ? "" : parsed.error();
    }

    json::Parser parser_;
    std::string body_;
};

TEST_F(CallWireTest, AFullRequestIsReadWhole) {
    const std::string body =
        R"({"version":"v1","call_id":"c\u0037","tool_name":"memory.query","tenant_id":"t",)"
        R"("args": { "limit" : 5.0 },"timeout_ms":120000,"idempotency_key":"k",
        "context":{"agent_id":"a","session_id":"s","platform":"p","channel_id":"ch",)"
        R"("actor_id":"ac","isolation_key":"i","trace_id":"tr","request_origin":"cron"}})";
    core::Call call;
    std::string texts;
    ASSERT_TRUE(parse_call_request(body, parser_, texts, call));
    EXPECT_EQ(call.id, "c7");
    EXPECT_EQ(call.tool, "memory.query");
    EXPECT_EQ(call.tenant, "t");
    EXPECT_EQ(call.idempotency_key, "k");
    EXPECT_EQ(call.timeout, Milliseconds(120'000));
    EXPECT_EQ(call.args, R"({ "limit" : 5.0 })") << "the bytes received";
    ASSERT_TRUE(call.parsed_args);
    EXPECT_TRUE(call.parsed_args->element().is_object());
    EXPECT_EQ(call.context.agent_id, "a");
    EXPECT_EQ(call.context.session_id, "s");
    EXPECT_EQ(call.context.platform, "p");
    EXPECT_EQ(call.context.channel_id, "ch");
    EXPECT_EQ(call.context.actor_id, "ac");
    EXPECT_EQ(call.context.isolation_key, "i");
    EXPECT_EQ(call.context.trace_id, "tr");
    EXPECT_EQ(call.context.request_origin, "cron");
}

TEST_F(CallWireTest, ASmallRequestIsEnough) {
    core::Call call;
    std::string texts;
    ASSERT_TRUE(parse_call_request(kGood, parser_, texts, call));
    EXPECT_FALSE(call.timeout);
    EXPECT_EQ(call.idempotency_key, "");
    EXPECT_EQ(call.args, R"({"limit":5})");
}

TEST_F(CallWireTest, Row5_WhatBreaksTheFormIs400) {
    std::string deep(kGood);
    deep.replace(deep.find("5}"), 1, std::string(70, '[') + "5" + std::string(70, ']'));
    std::vector<std::string> broken{"",
                                    "{",
                                    "[]",
                                    "7",
                                    "null",
                                    "\"x\"",
                                    std::string(kGood) + "x",
                                    std::string(kGood) + "{}",
                                    "\xEF\xBB\xBF" + std::string(kGood),
                                    "{\"version\":\"\xFF\"}",
                                    deep,
                                    R"({"version":"v1","version":"v1"})",
                                    R"({"context":{"agent_id":"a","agent_id":"a"}})"};
    for (const char* member : {"/extra", "/Version", "/context/extra", "/context/AgentId"})
        broken.push_back(request_with({{member, "1"}}));
    for (const char* member :
         {"/version", "/call_id", "/tool_name", "/tenant_id", "/idempotency_key",
          "/context/agent_id", "/context/session_id", "/context/platform", "/context/channel_id",
          "/context/actor_id", "/context/isolation_key", "/context/trace_id",
          "/context/request_origin"}) {
        for (const char* wrong : {"null", "7", "[]", "{}", "true"})
            broken.push_back(request_with({{member, wrong}}));
    }
    for (const char* wrong : {"null", "7", "[]", "\"{}\"", "true"}) {
        broken.push_back(request_with({{"/args", wrong}}));
        broken.push_back(request_with({{"/context", wrong}}));
    }
    for (const char* twice : {R"(5,"limit":6)", R"(5,"a":[{"b":1,"\u0062":2}])"}) {
        std::string body(kGood);
        broken.push_back(body.replace(body.find("5}"), 1, twice));
    }
    for (const char* wrong : {"null", "\"500\"", "[]", "1.5"})
        broken.push_back(request_with({{"/timeout_ms", wrong}}));
    for (const std::string& body : broken) {
        EXPECT_EQ(refusal(body).http_status, 400) << body.substr(0, 200);
        EXPECT_NE(refusal(body).message, "");
    }
}

TEST_F(CallWireTest, Row6_WhatBreaksAValueIs200AndNamesIt) {
    for (const char* member : {"/version", "/call_id", "/tool_name", "/tenant_id",
                               "/context/agent_id", "/context/session_id"}) {
        for (const char* wrong : {"", "\"\"", "\" \"", "\"\\t\\n\""}) {
            const CallRefusal refused = refusal(request_with({{member, wrong}}));
            EXPECT_EQ(refused.http_status, 200) << member << wrong;
            EXPECT_THAT(refused.message, HasSubstr(member));
        }
    }
    for (const char* member : {"/args", "/context"}) {
        EXPECT_EQ(refusal(request_with({{member, ""}})).http_status, 200);
        EXPECT_THAT(refusal(request_with({{member, ""}})).message, HasSubstr(member));
    }
    EXPECT_EQ(refusal(request_with({{"/version", "\"v2\""}})).http_status, 200);
    for (const char* wrong : {"0", "-1", "120001", "9223372036854775808", "1e30"}) {
        const CallRefusal refused = refusal(request_with({{"/timeout_ms", wrong}}));
        EXPECT_EQ(refused.http_status, 200) << wrong;
        EXPECT_THAT(refused.message, HasSubstr("/timeout_ms"));
    }
    for (const char* fine : {"1", "120000", "500.0"})
        EXPECT_EQ(refusal(request_with({{"/timeout_ms", fine}})).http_status, 0) << fine;
    for (const char* wrong : {"\"\"", "\"Cron\"", "\"user\""}) {
        EXPECT_EQ(refusal(request_with({{"/context/request_origin", wrong}})).http_status, 200);
        EXPECT_THAT(refusal(request_with({{"/context/request_origin", wrong}})).message,
                    HasSubstr("request_origin"));
    }
    for (const char* fine : {"agent_turn", "cron", "operator", "system"})
        EXPECT_EQ(refusal(request_with({{"/context/request_origin", fmt::format("\"{}\"", fine)}}))
                      .http_status,
                  0);
}

TEST_F(CallWireTest, Row6_StringsOutsideArgsHaveAtMost256Bytes) {
    const std::string longest = fmt::format("\"{}\"", std::string(256, 'x'));
    const std::string too_long = fmt::format("\"{}\"", std::string(257, 'x'));
    for (const char* member :
         {"/call_id", "/tool_name", "/tenant_id", "/idempotency_key", "/context/agent_id",
          "/context/session_id", "/context/platform", "/context/channel_id", "/context/actor_id",
          "/context/isolation_key", "/context/trace_id"}) {
        EXPECT_EQ(refusal(request_with({{member, longest}})).http_status, 0) << member;
        EXPECT_EQ(refusal(request_with({{member, too_long}})).http_status, 200) << member;
    }
    EXPECT_EQ(
        refusal(request_with({{"/args", fmt::format(R"({{"text":{}}})", too_long)}})).http_status,
        0);
}

TEST_F(CallWireTest, ARefusalKnowsTheIdsThatCouldBeRead) {
    const std::string body = R"({"call_id":"c7","tool_name":"t","extra":1})";
    core::Call call;
    std::string texts;
    ASSERT_FALSE(parse_call_request(body, parser_, texts, call));
    EXPECT_EQ(call.id, "c7");
    EXPECT_EQ(call.tool, "t");
}

Value response(const core::Outcome& outcome, std::string_view call_id = "c7",
               std::string_view tool = "t") {
    std::string out;
    append_call_response(out, call_id, tool, 12, outcome);
    auto value = Value::parse(out);
    EXPECT_TRUE(value) << out;
    return value.value_or(Value());
}

core::ToolResult result_of(core::ContentKind kind, std::string content,
                           std::string content_type = {}) {
    return {.kind = kind,
            .content = std::move(content),
            .content_type = std::move(content_type),
            .logs = {},
            .usage = {}};
}

TEST(CallResponse, AnOkHasAResultAndNothingElse) {
    EXPECT_EQ(
        response(result_of(core::ContentKind::kText, "a\n\"b\"")),
        Value::parse(
            R"({"version":"v1","call_id":"c7","tool_name":"t","status":"ok","duration_ms":12,)"
            R"("result":{"text":"a\n\"b\""}})")
            .value());
    EXPECT_EQ(*response(result_of(core::ContentKind::kJson, R"({"a":1})")).find("result"),
              Value::parse(R"({"a":1})").value());
    EXPECT_EQ(*response(result_of(core::ContentKind::kJson, "[1,2]")).find("result"),
              Value::parse(R"({"value":[1,2]})").value());
    EXPECT_EQ(*response(result_of(core::ContentKind::kJson, "null")).find("result"),
              Value::parse(R"({"value":null})").value());
    EXPECT_EQ(*response(result_of(core::ContentKind::kBytes, std::string("\0\xFF", 2), "image/png"))
                   .find("result"),
              Value::parse(R"({"content_type":"image/png","data_base64":"AP8="})").value());
    core::ToolResult with_logs = result_of(core::ContentKind::kText, "x");
    with_logs.logs = {"one", "two \xFF"};
    EXPECT_EQ(response(with_logs).find("logs")->as_array()->size(), 2u);
}

TEST(CallResponse, AFailureHasAnErrorAndNoResult) {
    const Value plain = response(fail(ErrorCode::kToolFailed, "the tool said no \xFF"), "", "");
    EXPECT_EQ(plain.find("result"), nullptr);
    EXPECT_EQ(*plain.find("status"), Value("error"));
    EXPECT_EQ(*plain.resolve("/error/code"), Value("TOOL_FAILED"));
    EXPECT_EQ(*plain.resolve("/error/retryable"), Value(false));
    EXPECT_EQ(plain.resolve("/error/details"), nullptr);
    EXPECT_EQ(*plain.find("call_id"), Value(""));

    const Value details = response(fail(ErrorCode::kInvalidArgs, "/limit: at most 100",
                                        R"({"errors":[{"pointer":"/limit"}]})"));
    EXPECT_EQ(*details.resolve("/error/details/errors/0/pointer"), Value("/limit"));

    const Value busy = response(fail(Error{.code = ErrorCode::kRateLimited,
                                           .message = "wait",
                                           .details = {},
                                           .retryable = {},
                                           .retry_after = Milliseconds(250)}));
    EXPECT_EQ(*busy.find("status"), Value("retryable_error"));
    EXPECT_EQ(*busy.resolve("/error/retryable"), Value(true));
    EXPECT_EQ(*busy.resolve("/error/details/retry_after_ms"), Value(250));
    EXPECT_EQ(*response(fail(ErrorCode::kTimeout, "late")).find("status"), Value("timeout"));
}

TEST(CallResponse, TheStatusIsOneOfFourForEveryCode) {
    for (const ErrorCode code : all_error_codes()) {
        EXPECT_THAT(std::string(wire_status(fail(code, "m"))),
                    testing::AnyOf("error", "retryable_error", "timeout"))
            << token_of(code);
        EXPECT_EQ(wire_status(fail(code, "m")) == "retryable_error", is_retryable(code))
            << token_of(code);
    }
}

TEST(CallResponse, EveryCodeHasTheFormThatSpecErrorsSays) {
    std::ifstream file(std::string(CRAB_SOURCE_DIR) + "/spec/errors.json");
    std::stringstream text;
    text << file.rdbuf();
    const Value spec = Value::parse(text.str()).value();
    const auto& codes = *spec.find("codes")->as_array();
    EXPECT_EQ(codes.size(), all_error_codes().size());
    for (const Value& entry : codes) {
        const auto code = find_error_code(*entry.find("token")->as_string());
        ASSERT_TRUE(code);
        EXPECT_EQ(wire_code(*code), *entry.find("rtp")->as_string())
            << *entry.find("token")->as_string();
    }
}

TEST_F(CallWireTest, ACancelRequestIsReadStrictly) {
    std::string texts;
    const auto request = parse_cancel_request(
        R"({"version":"v1","tenant_id":"t","call_id":"c7","reason":"caller_gone"})", parser_,
        texts);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->tenant_id, "t");
    EXPECT_EQ(request->call_id, "c7");
    EXPECT_EQ(request->reason, "caller_gone");
    for (const char* fine :
         {R"({"version":"v1","tenant_id":"t","call_id":"c7"})",
          R"({"version":"v1","tenant_id":"t","call_id":"c7","reason":"shutdown"})"})
        EXPECT_EQ(cancel_refusal(fine), "");
    for (const char* broken :
         {"", "[]", R"({"version":"v1","tenant_id":"t"})", R"({"version":"v1","call_id":"c"})",
          R"({"tenant_id":"t","call_id":"c"})", R"({"version":"v2","tenant_id":"t","call_id":"c"})",
          R"({"version":"v1","tenant_id":" ","call_id":"c"})",
          R"({"version":"v1","tenant_id":"t","call_id":7})",
          R"({"version":"v1","tenant_id":"t","call_id":"c","reason":"bored"})",
          R"({"version":"v1","tenant_id":"t","call_id":"c","reason":null})",
          R"({"version":"v1","tenant_id":"t","call_id":"c","x":1})",
          R"({"version":"v1","tenant_id":"t","call_id":"c","call_id":"c"})"}) {
        EXPECT_NE(cancel_refusal(broken), "") << broken;
    }
}

Value discovered(core::ToolSpec spec, std::string_view name) {
    const auto tool = core::make_tool(std::move(spec)).value();
    std::string out;
    append_discovered_tool(out, name, *tool);
    auto value = Value::parse(out);
    EXPECT_TRUE(value) << out;
    return value.value_or(Value());
}

TEST(Discovery, AToolHasEveryRequiredMember) {
    core::ToolSpec spec;
    spec.name = "read";
    spec.description = "Reads \"it\"";
    const Value tool = discovered(std::move(spec), "kitchen__read");
    EXPECT_EQ(*tool.find("name"), Value("kitchen__read"));
    EXPECT_EQ(*tool.find("input_schema"), Value::parse(R"({"type":"object"})").value());
    EXPECT_EQ(*tool.find("output_schema"), Value::parse(R"({"type":"object"})").value());
    EXPECT_EQ(tool.find("timeout_ms_default")->as_int64(), 30'000);
    EXPECT_EQ(tool.find("timeout_ms_max")->as_int64(), 120'000);
    EXPECT_NE(tool.find("idempotent")->as_bool(), nullptr);
    EXPECT_NE(tool.find("side_effects")->as_bool(), nullptr);
    EXPECT_EQ(tool.find("title"), nullptr);
    EXPECT_EQ(tool.find("max_concurrency"), nullptr);
    EXPECT_EQ(tool.find("annotations"), nullptr);
}

TEST(Discovery, TimeoutsStayInTheRangeOfTheSchemaAndClaimsAreToldAsClaims) {
    core::ToolSpec spec;
    spec.name = "slow";
    spec.title = "Slow";
    spec.default_timeout = Milliseconds(500'000);
    spec.max_timeout = Milliseconds(900'000);
    spec.max_concurrency = 3;
    spec.annotations.read_only = true;
    spec.annotations.destructive = false;
    const Value tool = discovered(std::move(spec), "slow");
    EXPECT_EQ(tool.find("timeout_ms_default")->as_int64(), 120'000);
    EXPECT_EQ(tool.find("timeout_ms_max")->as_int64(), 120'000);
    EXPECT_EQ(*tool.find("title"), Value("Slow"));
    EXPECT_EQ(tool.find("max_concurrency")->as_int64(), 3);
    EXPECT_EQ(*tool.find("annotations"),
              Value::parse(R"({"read_only":true,"destructive":false})").value());
}

}  // namespace
}  // namespace crab::rtp
