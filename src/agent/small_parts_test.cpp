// The parts of a turn that fit into a few lines each: addresses, retries, cuts, outputs, the guard.

#include "agent/base_url.hpp"
#include "agent/model_api.hpp"
#include "agent/repeat_guard.hpp"
#include "agent/retry_rule.hpp"
#include "agent/tool_output.hpp"
#include "base/cut_text.hpp"

#include <gtest/gtest.h>

namespace crab::agent {
namespace {

using namespace std::chrono_literals;

TEST(BaseUrl, HasSchemeHostPortAndPath) {
    const auto url = parse_base_url("https://api.example.com/v1/");
    ASSERT_TRUE(url);
    EXPECT_TRUE(url->tls);
    EXPECT_EQ(url->host, "api.example.com");
    EXPECT_EQ(url->port, 443);
    EXPECT_EQ(url->path, "/v1");
    EXPECT_EQ(url->host_field(), "api.example.com");
    const auto local = parse_base_url("http://[::1]:8080");
    ASSERT_TRUE(local);
    EXPECT_EQ(local->host, "::1");
    EXPECT_EQ(local->host_field(), "[::1]:8080");
    EXPECT_EQ(local->path, "");
}

TEST(BaseUrl, IsNothingElse) {
    for (const std::string_view text : {"", "api.example.com", "ftp://a/b", "http://",
                                        "http://a/b?c", "http://user:pass@a/b", "http://a b/"})
        EXPECT_FALSE(parse_base_url(text)) << text;
    const auto refused = parse_base_url("http://user:hush@a/b");
    ASSERT_FALSE(refused);
    EXPECT_FALSE(refused.error().message.contains("hush")) << "it is logged";
}

TEST(RetryRule, DoublesWithJitterUpToALimit) {
    const RetryRule rule{.most = 6};
    for (const std::uint64_t random : {std::uint64_t{0}, std::uint64_t{12'345}, UINT64_MAX}) {
        Milliseconds full = rule.first;
        for (int repeat = 0; repeat < rule.most;
             ++repeat, full = std::min(full * 2, rule.longest)) {
            const auto delay = rule.delay(repeat, {}, random);
            ASSERT_TRUE(delay);
            EXPECT_GE(*delay, full / 2);
            EXPECT_LE(*delay, full);
        }
    }
    EXPECT_FALSE(rule.delay(6, {}, 0));
}

TEST(RetryRule, HonoursWhatTheServerAsksForUnlessItIsTooLong) {
    const RetryRule rule;
    EXPECT_EQ(rule.delay(0, 7s, 1), 7s);
    EXPECT_FALSE(rule.delay(0, 1h, 1));
    EXPECT_TRUE(RetryRule::helps(408) && RetryRule::helps(429) && RetryRule::helps(524) &&
                RetryRule::helps(529) && !RetryRule::helps(501) && !RetryRule::helps(400) &&
                !RetryRule::helps(401));
}

TEST(CutText, NeverCutsACharacter) {
    constexpr std::string_view kText = "aä€";
    EXPECT_EQ(cut_text(kText, 100), kText);
    EXPECT_EQ(cut_text(kText, 2), "a");
    EXPECT_EQ(cut_text(kText, 3), "aä");
    EXPECT_EQ(cut_text(kText, 5), "aä");
    EXPECT_EQ(cut_text(kText, 0), "");
}

TEST(ToolOutput, IsTheTextOrTheErrorWithItsCodeOnce) {
    EXPECT_EQ(
        shown_to_model(core::ToolResult{.kind = core::ContentKind::kText, .content = "warm"}, 100),
        "warm");
    EXPECT_EQ(shown_to_model(fail(ErrorCode::kTimeout, "no answer"), 100),
              "Error: TIMEOUT: no answer");
    EXPECT_EQ(shown_to_model(fail(ErrorCode::kUnavailable, "UNAVAILABLE: asleep"), 100),
              "Error: UNAVAILABLE: asleep");
    for (const char* said :
         {"no consent", "[AUTH_REQUIRED] no consent", "AUTH_REQUIRED: no consent",
          "AUTH_REQUIRED: [AUTH_REQUIRED] no consent",
          "[AUTH_REQUIRED] AUTH_REQUIRED: no consent"}) {
        EXPECT_EQ(shown_to_model(fail(ErrorCode::kAuthRequired, said), 100),
                  "Error: AUTH_REQUIRED: no consent")
            << said;
    }
    EXPECT_EQ(shown_to_model(core::ToolResult{.kind = core::ContentKind::kBytes,
                                              .content = "123",
                                              .content_type = "image/png"},
                             100),
              "[3 bytes of image/png]");
}

TEST(ToolOutput, SaysThatItWasCut) {
    const std::string shown = shown_to_model(
        core::ToolResult{.kind = core::ContentKind::kText, .content = std::string(1'000, 'x')}, 10);
    EXPECT_TRUE(shown.starts_with("xxxxxxxxxx\n[cut here: 10 of 1000 bytes")) << shown;
}

TEST(RepeatGuard, HoldsACallThatFailedThreeTimesInARow) {
    RepeatGuard guard;
    const ToolRequest request{.id = "1", .tool = "wall", .args = "{}"};
    const ToolRequest other{.id = "2", .tool = "wall", .args = R"({"a":1})"};
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(guard.holds(request));
        guard.ended(request, true);
    }
    EXPECT_TRUE(guard.holds(request));
    EXPECT_FALSE(guard.holds(other));
    guard.ended(request, false);
    EXPECT_FALSE(guard.holds(request));
}

TEST(Refusal, NeverRepeatsWhatAVendorSaysAboutCredentials) {
    EXPECT_EQ(refusal_text(R"({"error":{"message":"too long"}})"), "too long");
    EXPECT_EQ(refusal_text(R"({"error":"no such model"})"), "no such model");
    EXPECT_EQ(refusal_text("<html>"), "");
    EXPECT_EQ(refusal(401, "key sk-123").message.find("sk-123"), std::string::npos);
    EXPECT_EQ(refusal(401, "").code, ErrorCode::kUnauthenticated);
    EXPECT_EQ(refusal(429, "").code, ErrorCode::kUnavailable);
    EXPECT_EQ(refusal(503, "").code, ErrorCode::kUnavailable);
    EXPECT_EQ(refusal(400, "bad").code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace crab::agent
