#include "adapters/rtp/hosts/host_wire.hpp"

#include "json/value.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace crab::rtp {
namespace {

using json::Value;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::string_view kGood =
    R"({"version":"v1","call_id":"c7","tool_name":"echo","status":"ok","duration_ms":3,)"
    R"("result":{"n": 1}})";

class HostWireTest : public testing::Test {
protected:
    core::Outcome read(std::string_view body, int http_status = 200,
                       std::optional<Milliseconds> retry_after = {}) {
        return read_call_reply(
            {.http_status = http_status, .body = body, .retry_after = retry_after}, parser, "c7",
            "echo");
    }
    /// The good answer with a member set to a JSON text, or left out where that is empty.
    static std::string with(const std::string& member, const std::string& text) {
        Value reply = Value::parse(kGood).value();
        if (text.empty()) {
            reply.erase(member);
        } else {
            reply.set(member, Value::parse(text).value());
        }
        return reply.dump();
    }
    static std::string failed(std::string_view status, std::string_view error) {
        return fmt::format(
            R"({{"version":"v1","call_id":"c7","tool_name":"echo","status":"{}","duration_ms":0,)"
            R"("error":{}}})",
            status, error);
    }

    json::Parser parser;
};

TEST_F(HostWireTest, AResultIsHandedOnAsTheBytesThatCame) {
    const core::Outcome outcome = read(kGood);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->kind, core::ContentKind::kJson);
    EXPECT_EQ(outcome->content, R"({"n": 1})");
    EXPECT_EQ(read(with("result", ""))->content, "{}");
    EXPECT_EQ(read(with("logs", R"(["a","b"])"))->logs, (std::vector<std::string>{"a", "b"}));
}

TEST_F(HostWireTest, AnAnswerThatBreaksARuleIsInternalNamesItAndIsNotRepeated) {
    const std::pair<std::string, std::string> cases[] = {
        {with("version", R"("v2")"), "version"},
        {with("call_id", R"("c8")"), "call_id"},
        {with("tool_name", R"("ech")"), "tool_name"},
        {with("call_id", R"("")"), "call_id"},
        {with("status", R"("fine")"), "status"},
        {with("status", ""), "status"},
        {with("duration_ms", "-1"), "duration_ms"},
        {with("duration_ms", "1.5"), "duration_ms"},
        {with("duration_ms", ""), "duration_ms"},
        {with("result", "[]"), "result"},
        {with("result", "null"), "result"},
        {with("logs", R"([1])"), "logs"},
        {with("extra", "1"), "does not know"},
        {"[]", "not a JSON object"},
        {"not json", "not JSON"},
        {"", "not JSON"},
        {R"({"version":"v1","version":"v1","call_id":"c7","tool_name":"echo","status":"ok",)"
         R"("duration_ms":3})",
         "twice"},
        {failed("error", R"({"code":"X","code":"Y"})"), "twice"},
        {failed("error", R"({"details":{"a":{"b":1,"\u0062":2}}})"), "twice"},
        {R"({"version":"v1","call_id":"c7","tool_name":"echo","status":"ok","duration_ms":3,)"
         R"("result":{"rooms":[{"a":1,"a":2}]}})",
         "twice"},
        {failed("error", "[]"), "error"},
        {failed("error", R"({"code":1})"), "error.code"},
        {failed("error", R"({"details":[]})"), "error.details"},
        {failed("error", R"({"more":1})"), "error has a member"},
        {failed("error", R"({"retryable":"yes"})"), "error.retryable"}};
    for (const auto& [body, named] : cases) {
        const core::Outcome outcome = read(body);
        ASSERT_FALSE(outcome) << body;
        EXPECT_EQ(outcome.error().code, ErrorCode::kInternal) << body;
        EXPECT_THAT(outcome.error().message, HasSubstr(named)) << body;
        EXPECT_FALSE(outcome.error().may_retry()) << body;
    }
}

TEST_F(HostWireTest, FailuresKeepTheirCodeAndOnlyRetryableErrorMayBeRepeated) {
    const core::Outcome refused =
        read(failed("error", R"({"code":"RATE_LIMITED","message":"full","retryable":true,)"
                             R"("details":{"retry_after_ms":250}})"));
    EXPECT_EQ(refused.error().code, ErrorCode::kRateLimited);
    EXPECT_EQ(refused.error().message, "full");
    EXPECT_EQ(refused.error().retry_after, 250ms);
    EXPECT_FALSE(refused.error().may_retry());
    EXPECT_TRUE(read(failed("retryable_error", R"({"code":"RATE_LIMITED","message":"full"})"))
                    .error()
                    .may_retry());
    EXPECT_EQ(
        read(failed("error", R"({"code":"DEPENDENCY_UNAVAILABLE","message":"m"})")).error().code,
        ErrorCode::kUnavailable);
    EXPECT_EQ(read(failed("error", R"({"code":"FORBIDDEN","message":"m"})")).error().code,
              ErrorCode::kForbidden);
    EXPECT_EQ(read(failed("error", R"({"code":"INTERNAL","message":"m"})")).error().code,
              ErrorCode::kInternal);
    EXPECT_EQ(read(failed("error", R"({"code":"WHATEVER","message":"m"})")).error().code,
              ErrorCode::kInternal);
    EXPECT_EQ(read(failed("error", "{}")).error().code, ErrorCode::kInternal);
    EXPECT_EQ(read(failed("timeout", "{}")).error().code, ErrorCode::kTimeout);
    EXPECT_EQ(read(with("status", R"("error")")).error().code, ErrorCode::kInternal);
}

TEST_F(HostWireTest, WithoutABodyThatSaysMoreTheHttpStatusDecides) {
    const auto code = [&](int status) { return read("<html>", status).error().code; };
    EXPECT_EQ(code(401), ErrorCode::kForbidden);
    EXPECT_EQ(code(403), ErrorCode::kForbidden);
    for (const int status : {301, 307, 404, 429, 500, 503})
        EXPECT_EQ(code(status), ErrorCode::kUnavailable) << status;
    EXPECT_EQ(code(400), ErrorCode::kInternal);
    for (const int status : {302, 404, 500, 502})
        EXPECT_FALSE(read("", status).error().may_retry()) << status;
    EXPECT_TRUE(read("", 503, 2'000ms).error().may_retry());
    EXPECT_TRUE(read("", 429).error().may_retry());
    EXPECT_EQ(read("", 503, 2'000ms).error().retry_after, 2'000ms);
    // a redirect is never an answer
    EXPECT_EQ(read(kGood, 302).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(read(kGood, 500).error().code, ErrorCode::kInternal);
}

TEST_F(HostWireTest, ARefusalMayComeBeforeTheHostKnowsWhoseCallItIs) {
    const std::string body =
        R"({"version":"v1","call_id":"","tool_name":"","status":"retryable_error","duration_ms":0,)"
        R"("error":{"code":"DEPENDENCY_UNAVAILABLE","message":"stopping"}})";
    EXPECT_EQ(read(body, 503).error().message, "stopping");
    EXPECT_TRUE(read(body, 503).error().may_retry());
    EXPECT_EQ(read(body, 200).error().code, ErrorCode::kInternal);
}

TEST_F(HostWireTest, TheHostGetsATenthLessThanIsLeft) {
    EXPECT_EQ(timeout_for_host(1s), 900);
    EXPECT_EQ(timeout_for_host(30s), 29'800);
    EXPECT_EQ(timeout_for_host(300s), 120'000);
    EXPECT_EQ(timeout_for_host(5ms), 5);
    EXPECT_EQ(timeout_for_host(-1s), 1);
}

TEST_F(HostWireTest, CancelsNameTenantCallAndReason) {
    std::string body;
    append_cancel_request(body, "t", "c7", CancelReason::kTimeout);
    EXPECT_EQ(body, R"({"version":"v1","tenant_id":"t","call_id":"c7","reason":"timeout"})");
}

TEST_F(HostWireTest, AListIsReadElementByElement) {
    const auto found = read_discovery(R"({"version":"v1","service":"s","more":1,"tools":[
        {"name":"a.read","description":"d","title":"A","input_schema":{},)"
                                      R"("output_schema":{"type":"object"},"timeout_ms_default":5,)"
                                      R"("timeout_ms_max":7,
         "idempotent":true,"side_effects":false,"accepts_idempotency_key":true,)"
                                      R"("max_concurrency":3,"annotations":{"read_only":true},)"
                                      R"("unknown":1},
        {"name":"b","description":"d","input_schema":{"type":"object"},)"
                                      R"("timeout_ms_default":500000,"timeout_ms_max":0},
        {"name":"c","description":"d","input_schema":{},"side_effects":false},
        {"name":"a.read","description":"again","input_schema":{}},
        {"name":"no spaces","description":"d","input_schema":{}},
        {"name":"d","description":"d","input_schema":{"type":"nothing"}},
        {"name":"e","description":"d"}, {"name":"f","input_schema":{}}, 7]})",
                                      parser);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->tools.size(), 3u);
    EXPECT_EQ(found->dropped.size(), 6u);
    const core::ToolSpec& a = found->tools[0]->spec;
    EXPECT_EQ(a.name, "a.read");
    EXPECT_EQ(a.title, "A");
    EXPECT_EQ(a.default_timeout, 5ms);
    EXPECT_EQ(a.max_timeout, 7ms);
    EXPECT_TRUE(a.idempotent && !a.side_effects && a.accepts_idempotency_key && a.effects_known);
    EXPECT_EQ(a.max_concurrency, 3u);
    EXPECT_EQ(a.annotations.read_only, true);
    EXPECT_NE(found->tools[0]->output, nullptr);
    const core::ToolSpec& b = found->tools[1]->spec;
    EXPECT_EQ(b.max_timeout, 1ms);
    EXPECT_EQ(b.default_timeout, 1ms);
    EXPECT_TRUE(!b.idempotent && b.side_effects && !b.accepts_idempotency_key);
    const core::ToolSpec& c = found->tools[2]->spec;
    EXPECT_EQ(c.default_timeout, 30s);
    EXPECT_EQ(c.max_timeout, 120s);
    EXPECT_TRUE(c.idempotent) << "without side effects a repeat has no second one";
}

TEST_F(HostWireTest, WhatIsNoListIsRefusedWhole) {
    for (const std::string_view body : {"", "[]", "{}", R"({"version":"v2","tools":[]})",
                                        R"({"version":"v1"})", R"({"version":"v1","tools":{}})"}) {
        EXPECT_FALSE(read_discovery(body, parser)) << body;
    }
}

TEST_F(HostWireTest, NoMoreThanAThousandToolsAreTaken) {
    std::string body = R"({"version":"v1","service":"s","tools":[)";
    for (int i = 0; i < 1100; ++i)
        body += fmt::format(R"({}{{"name":"t{}","description":"d","input_schema":{{}}}})",
                            i == 0 ? "" : ",", i);
    const auto found = read_discovery(body + "]}", parser);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->tools.size(), 1024u);
    EXPECT_EQ(found->dropped.size(), 64u);
}

}  // namespace
}  // namespace crab::rtp
