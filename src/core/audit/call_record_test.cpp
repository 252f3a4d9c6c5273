#include "core/audit/call_record.hpp"

#include "base/test_clock.hpp"
#include "core/audit/metrics.hpp"
#include "core/call/test_tools.hpp"
#include "json/value.hpp"

#include <limits>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

struct CallRecordTest : testing::Test {
    FakeClock clock;
    Call call;
    Principal principal;
    CallFacts facts;

    CallRecordTest() {
        principal.id = "caller/ann";
        call.id = "c1";
        call.tool = "echo";
        call.front = "http";
        call.args = R"({"a":1})";
        call.timeline.start(clock.steady_now(), clock.system_now());
    }
    json::Value written(const Outcome* outcome) {
        std::string out;
        append_call_record(out, call, principal, facts, outcome);
        auto value = json::Value::parse(out);
        EXPECT_TRUE(value) << out;
        EXPECT_EQ(out.find('\n'), std::string::npos);
        EXPECT_TRUE(out.starts_with("{\"call_id\":")) << out;
        return value ? *value : json::Value();
    }
    static std::string text(const json::Value& value, std::string_view pointer) {
        const auto* found = value.resolve(pointer);
        return found == nullptr ? "(absent)" : found->dump();
    }
};

TEST_F(CallRecordTest, ACallThatRanIsToldWithItsTimeline) {
    facts.tool = tool_of("echo", "phone");
    facts.decision = {Verdict::kAllow, "role default"};
    facts.dispatched = true;
    facts.hooks.push_back({"redact", "replace", 5us});
    facts.attempts.push_back({.took = 1ms,
                              .status = Status::kRetryableError,
                              .code = ErrorCode::kUnavailable,
                              .at = 3ms});
    facts.last = {.took = 2ms, .status = Status::kOk, .code = ErrorCode::kInternal};
    for (std::size_t i = 1; i < kStages; ++i)
        call.timeline.reach(static_cast<Stage>(i),
                            clock.steady_now() + std::chrono::microseconds(i * 10));
    ToolResult result;
    result.content = "hello";
    const Outcome outcome = result;
    const auto value = written(&outcome);
    EXPECT_EQ(text(value, "/call_id"), R"("c1")");
    EXPECT_EQ(text(value, "/time"), '"' + to_rfc3339(clock.system_now()) + '"');
    EXPECT_EQ(text(value, "/source"), R"("device/phone")");
    EXPECT_EQ(text(value, "/decision"), R"("allow")");
    EXPECT_EQ(text(value, "/hooks/0/answer"), R"("replace")");
    EXPECT_EQ(text(value, "/attempts/0/code"), R"("UNAVAILABLE")");
    EXPECT_EQ(text(value, "/attempts/0/at_us"), "3000");
    EXPECT_EQ(text(value, "/attempts/1/at_us"), "(absent)");
    EXPECT_EQ(text(value, "/attempts/1/status"), R"("ok")");
    EXPECT_EQ(text(value, "/attempts/1/code"), "(absent)");
    EXPECT_EQ(text(value, "/args_bytes"), "7");
    EXPECT_EQ(text(value, "/result_bytes"), "5");
    EXPECT_EQ(text(value, "/timeline/dispatched"), "80");
    EXPECT_EQ(text(value, "/duration_us"), "100");
}

TEST_F(CallRecordTest, ArgumentsAndResultsAppearAsSizesOnly) {
    call.args = R"({"password":"hunter2"})";
    ToolResult result;
    result.content = "hunter3";
    const Outcome outcome = result;
    std::string out;
    append_call_record(out, call, principal, facts, &outcome);
    EXPECT_EQ(out.find("hunter"), std::string::npos);
}

TEST_F(CallRecordTest, ARefusalNamesItsReason) {
    const Outcome outcome = fail(ErrorCode::kToolNotFound, "no tool of that name");
    const auto value = written(&outcome);
    EXPECT_EQ(text(value, "/code"), R"("TOOL_NOT_FOUND")");
    EXPECT_EQ(text(value, "/message"), R"("no tool of that name")");
    EXPECT_EQ(text(value, "/attempts"), "(absent)");
    EXPECT_EQ(text(value, "/source"), "(absent)");
}

TEST_F(CallRecordTest, ACallAboutToBeDispatchedHasNoOutcomeYet) {
    facts.tool = tool_of("echo");
    const auto value = written(nullptr);
    EXPECT_EQ(text(value, "/status"), R"("dispatching")");
    EXPECT_EQ(text(value, "/duration_us"), "(absent)");
    std::string begun, ended;
    append_call_record(begun, call, principal, facts, nullptr);
    EXPECT_TRUE(is_begin_record(begun));
    const Outcome outcome = fail(ErrorCode::kToolFailed, R"(,"status":"dispatching"})");
    append_call_record(ended, call, principal, facts, &outcome);
    EXPECT_FALSE(is_begin_record(ended));
}

TEST_F(CallRecordTest, IsValidJsonWhateverTheTextsAre) {
    std::string nasty;
    for (int c = 1; c < 0x80; ++c) nasty += static_cast<char>(c);
    nasty += "\u00e4\U0001F980";
    std::string many;
    for (int i = 0; i < 50; ++i) many += nasty;
    call.id = call.tool = call.tenant = call.front = many;
    call.context = {.agent_id = many,
                    .session_id = many,
                    .platform = many,
                    .channel_id = many,
                    .actor_id = many,
                    .isolation_key = many,
                    .trace_id = many,
                    .request_origin = many};
    principal.id = many;
    call.client = {.name = many, .version = many, .revision = "2025-11-25", .era = "legacy"};
    call.upstream = {.tool = many, .revision = "2026-07-28", .era = "modern"};
    facts.input_rounds = std::numeric_limits<unsigned>::max();
    facts.tool = tool_of("echo", many);
    facts.decision.rule = many;
    facts.dispatched = facts.replayed = true;
    for (int i = 0; i < 20; ++i)
        facts.hooks.push_back({many, many, std::chrono::nanoseconds::max()});
    for (int i = 0; i < 20; ++i)
        facts.attempts.push_back({.took = std::chrono::nanoseconds::min(),
                                  .status = Status::kRetryableError,
                                  .code = ErrorCode::kPolicyUnenforceable,
                                  .at = std::chrono::nanoseconds::min()});
    facts.last = facts.attempts.front();
    for (std::size_t i = 1; i < kStages; ++i)
        call.timeline.reach(static_cast<Stage>(i), SteadyTime::max());
    const Outcome outcome = fail(ErrorCode::kPolicyUnenforceable, many + "\xff\xc3");
    const auto value = written(&outcome);
    EXPECT_EQ(*value.find("tool")->as_string(), many);
}

TEST_F(CallRecordTest, ALongMessageIsCutAndBrokenUtf8Mended) {
    const Outcome outcome = fail(ErrorCode::kToolFailed, "\xff" + std::string(100'000, 'x'));
    std::string out;
    append_call_record(out, call, principal, facts, &outcome);
    EXPECT_LT(out.size(), 1500u);
    EXPECT_TRUE(json::Value::parse(out)) << out;
    std::string umlauts = "x";
    for (int i = 0; i < 500; ++i) umlauts += "\u00e4";
    const Outcome cut = fail(ErrorCode::kToolFailed, umlauts);
    written(&cut);
}

TEST_F(CallRecordTest, IsAppendedToWhatIsThere) {
    std::string out = "before\n";
    const Outcome outcome = fail(ErrorCode::kToolFailed, "no");
    append_call_record(out, call, principal, facts, &outcome);
    EXPECT_TRUE(out.starts_with("before\n{"));
    EXPECT_EQ(out.back(), '}');
}

TEST(Timeline, EveryStageHasANameOfItsOwn) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < kStages; ++i) names.insert(name_of(static_cast<Stage>(i)));
    EXPECT_EQ(names.size(), kStages);
    EXPECT_FALSE(names.contains(""));
}

TEST(Timeline, WhatWasNotReachedIsNegative) {
    Timeline line;
    line.start(SteadyTime(1h), SystemTime(1h));
    line.reach(Stage::kValidated, SteadyTime(1h + 5us));
    EXPECT_EQ(line.offset_ns(Stage::kReceived), 0);
    EXPECT_EQ(line.offset_ns(Stage::kValidated), 5000);
    EXPECT_LT(line.offset_ns(Stage::kDispatched), 0);
    line.start(SteadyTime(2h), SystemTime(2h));
    EXPECT_LT(line.offset_ns(Stage::kValidated), 0);
}

TEST(Metrics, ThePageCountsTheCallsOfAllLoops) {
    CallMetrics one, two;
    MetricsPage page;
    page.add(one);
    page.add(two);
    page.add([](std::string& out) { append_metric(out, "crab_own", "gauge", "An own one.", 1.5); });
    one.count(SourceKind::kDevice, Status::kOk, 300us, 10, 20);
    two.count(SourceKind::kDevice, Status::kOk, 100us, 1, 2);
    two.count(SourceKind::kPeer, Status::kTimeout, 500s, 0, 0);
    two.count_error(ErrorCode::kTimeout);
    two.retries.add(3);
    const std::string text = page.text();
    for (const char* line :
         {"crab_calls_total{source=\"device\",status=\"ok\"} 2\n",
          "crab_calls_total{source=\"peer\",status=\"timeout\"} 1\n",
          "crab_call_duration_seconds_bucket{source=\"device\",le=\"0.0001\"} 1\n",
          "crab_call_duration_seconds_bucket{source=\"device\",le=\"0.0005\"} 2\n",
          "crab_call_duration_seconds_bucket{source=\"device\",le=\"+Inf\"} 2\n",
          "crab_call_duration_seconds_bucket{source=\"peer\",le=\"120.0\"} 0\n",
          "crab_call_duration_seconds_bucket{source=\"peer\",le=\"+Inf\"} 1\n",
          "crab_call_duration_seconds_count{source=\"device\"} 2\n",
          "crab_call_errors_total{code=\"TIMEOUT\"} 1\n", "crab_call_args_bytes_total 11\n",
          "crab_call_result_bytes_total 22\n", "crab_call_retries_total 3\n",
          "# HELP crab_own An own one.\n# TYPE crab_own gauge\ncrab_own 1.5\n"}) {
        EXPECT_NE(text.find(line), std::string::npos) << line << text;
    }
}

TEST(Metrics, EveryFamilyIsDescribedOnceBeforeItsSamplesAndEveryLineIsWellFormed) {
    CallMetrics metrics;
    metrics.count(SourceKind::kBuiltIn, Status::kError, 1ms, 1, 1);
    metrics.args_bytes.add(123'456'789'012);
    MetricsPage page;
    page.add(metrics);
    std::set<std::string> described;
    const std::string text = page.text();
    ASSERT_EQ(text.back(), '\n');
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
        const std::string line(rest.substr(0, rest.find('\n')));
        if (line.starts_with("# TYPE ")) {
            const std::string name = line.substr(7, line.find(' ', 7) - 7);
            EXPECT_TRUE(described.insert(name).second) << name;
        } else if (!line.starts_with("# HELP ")) {
            std::string name = line.substr(0, line.find_first_of("{ "));
            for (const char* suffix : {"_bucket", "_sum", "_count"}) {
                if (name.ends_with(suffix))
                    name.resize(name.size() - std::string_view(suffix).size());
            }
            EXPECT_TRUE(described.contains(name)) << line;
            const std::string value = line.substr(line.rfind(' ') + 1);
            std::size_t used = 0;
            EXPECT_NO_THROW(std::stod(value, &used)) << line;
            EXPECT_EQ(used, value.size()) << line;
        }
    }
}

TEST_F(CallRecordTest, APolicyAStreamAndAnEarlyEndAreTold) {
    auto policy = std::make_shared<EffectivePolicy>();
    policy->timeout = 5s;
    policy->clamped = {"timeout"};
    facts.policy = policy;
    facts.sent = FrameSink::Sent{.frames = 3, .bytes = 600, .gave_up = "slow reader"};
    facts.cause = facts.sent->gave_up;
    facts.cancelled_by = "caller/\"ann\"";
    call.cpu_spent = 7ms;
    const Outcome outcome = fail(ErrorCode::kCancelled, "the call was cancelled");
    const auto value = written(&outcome);
    EXPECT_EQ(text(value, "/policy/timeout_ms"), "5000");
    EXPECT_EQ(text(value, "/policy/network_policy"), R"("DENY_ALL")");
    EXPECT_EQ(text(value, "/policy/clamped"), R"(["timeout"])");
    EXPECT_EQ(text(value, "/cpu_ms"), "7");
    EXPECT_EQ(text(value, "/frames"), "3");
    EXPECT_EQ(text(value, "/stream_bytes"), "600");
    EXPECT_EQ(text(value, "/cause"), R"("slow reader")");
    EXPECT_EQ(text(value, "/cancelled_by"), R"("caller/\"ann\"")");
}

TEST_F(CallRecordTest, TheProgramsAtBothEndsAndQuestionsAreTold) {
    EXPECT_EQ(text(written(nullptr), "/client"), "(absent)");
    call.client = {.name = "a \"b\"", .version = "1.2", .revision = "2025-11-25", .era = "legacy"};
    const Outcome outcome = fail(ErrorCode::kTimeout, "late");
    EXPECT_EQ(text(written(&outcome), "/upstream"), "(absent)");
    call.upstream = {.tool = "read", .revision = {}, .era = {}};
    EXPECT_EQ(text(written(&outcome), "/upstream"), R"({"tool":"read"})") << "it was not reached";
    call.upstream = {.tool = "read", .revision = "2026-07-28", .era = "modern"};
    facts.input_rounds = 3;
    const auto value = written(&outcome);
    EXPECT_EQ(text(value, "/client"), R"({"name":"a \"b\"","version":"1.2",)"
                                      R"("revision":"2025-11-25","era":"legacy"})");
    EXPECT_EQ(text(value, "/upstream"),
              R"({"tool":"read","revision":"2026-07-28","era":"modern"})");
    EXPECT_EQ(text(value, "/input_rounds"), "3");
    EXPECT_EQ(text(written(nullptr), "/client/name"), R"("a \"b\"")") << "before it runs";
    call.client = {.name = {}, .version = {}, .revision = "2026-07-28", .era = "modern"};
    EXPECT_EQ(text(written(nullptr), "/client"),
              R"({"name":"","revision":"2026-07-28","era":"modern"})");
}

TEST_F(CallRecordTest, ArgumentsThatAreNoJsonCountByTheirBytes) {
    call.body_type = "image/png";
    call.body = "12345";
    EXPECT_EQ(text(written(nullptr), "/args_bytes"), "5");
}

}  // namespace
}  // namespace crab::core
