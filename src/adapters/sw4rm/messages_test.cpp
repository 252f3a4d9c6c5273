#include "adapters/sw4rm/messages.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace crab::sw4rm {
namespace {

using namespace std::string_literals;

std::string unhex(std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    return bytes;
}

template <class Message>
std::string wire(const Message& message) {
    std::string out;
    to_wire(out, message);
    return out;
}

// docs/protocols/sw4rm.md, section 1: every golden message, both ways.

constexpr std::string_view kCall =
    "0a0477632d37120b636f756e745f776f7264731a08776f726b73686f7022106170706c69636174696f6e2f6a736f6e"
    "2a137b2270617468223a226e6f7465732e6d64227d"
    "32130a02080510011a0b6578706f6e656e7469616c";

ToolCall golden_call() {
    ToolCall call{.call_id = "wc-7",
                  .tool_name = "count_words",
                  .provider_id = "workshop",
                  .content_type = "application/json",
                  .args = R"({"path":"notes.md"})",
                  .policy = ExecutionPolicy{},
                  .stream = false};
    call.policy->timeout = Duration{.seconds = 5, .nanos = 0};
    call.policy->max_retries = 1;
    call.policy->backoff = "exponential";
    return call;
}

TEST(Messages, AToolCallIsReadAndWrittenAsOnThePage) {
    const std::string bytes = unhex(kCall);
    EXPECT_EQ(parse_tool_call(bytes), golden_call());
    EXPECT_EQ(wire(golden_call()), bytes);
}

TEST(Messages, AnExplicitZeroAndUnknownFieldsChangeNothing) {
    const std::string bytes = unhex(std::string(kCall) + "3800" + "fa0103616263" + "a00601");
    EXPECT_EQ(parse_tool_call(bytes), golden_call());
}

TEST(Messages, ThePolicyThatRustSendsByDefault) {
    const std::string bytes = unhex(
        "0a02081e10031a0b6578706f6e656e7469616c2a0a72657374726963746564320764656661756c7438b0ea0140"
        "b0ea01");
    const ExecutionPolicy policy{.timeout = Duration{30, 0},
                                 .max_retries = 3,
                                 .backoff = "exponential",
                                 .worktree_required = false,
                                 .network_policy = "restricted",
                                 .privilege_level = "default",
                                 .budget_cpu_ms = 30'000,
                                 .budget_wall_ms = 30'000};
    const std::string call = unhex("0a016332") + static_cast<char>(bytes.size()) + bytes;
    EXPECT_EQ(parse_tool_call(call)->policy, policy);
    EXPECT_EQ(wire(policy), bytes);
}

TEST(Messages, APolicyAndATimeoutHavePresence) {
    const std::string empty = unhex("0a01633200");
    const ToolCall with_empty{.call_id = "c",
                              .tool_name = {},
                              .provider_id = {},
                              .content_type = {},
                              .args = {},
                              .policy = ExecutionPolicy{}};
    EXPECT_EQ(parse_tool_call(empty), with_empty);
    EXPECT_EQ(wire(with_empty), empty);

    const std::string some = unhex("0a0163320d0a0808011080cab5ee0140d00f");
    ToolCall with_some = with_empty;
    with_some.policy->timeout = Duration{1, 500'000'000};
    with_some.policy->budget_wall_ms = 2'000;
    EXPECT_EQ(parse_tool_call(some), with_some);
    EXPECT_EQ(wire(with_some), some);
}

TEST(Messages, FramesAreReadAndWrittenAsOnThePage) {
    struct Case {
        std::string hex;
        ToolFrame frame;
    };
    static const std::string kBinary = "\x00\x01\xff"s;
    const std::array<Case, 3> cases{{
        {"0a0477632d3710011801220a746578742f706c61696e2a0334320a32027b7d",
         {.call_id = "wc-7",
          .frame_no = 1,
          .final = true,
          .content_type = "text/plain",
          .data = "42\n",
          .summary = "{}"}},
        {"0a0363616d10ac022a030001ff",
         {.call_id = "cam",
          .frame_no = 300,
          .final = false,
          .content_type = {},
          .data = kBinary,
          .summary = {}}},
        {"0a016d10ffffffffffffffffff011801",
         {.call_id = "m",
          .frame_no = ~std::uint64_t{0},
          .final = true,
          .content_type = {},
          .data = {},
          .summary = {}}},
    }};
    for (const Case& each : cases) {
        const std::string bytes = unhex(each.hex);
        EXPECT_EQ(parse_tool_frame(bytes), each.frame) << each.hex;
        EXPECT_EQ(wire(each.frame), bytes) << each.hex;
    }
}

TEST(Messages, AToolErrorIsReadAndWrittenAsOnThePage) {
    const std::string bytes = unhex("0a0477632d37120943414e43454c4c45441a0963616e63656c6c6564");
    const ToolError error{.call_id = "wc-7", .error_code = "CANCELLED", .message = "cancelled"};
    EXPECT_EQ(parse_tool_error(bytes), error);
    EXPECT_EQ(wire(error), bytes);
}

TEST(Messages, OfTheServicesThatAreAsked) {
    std::string invocation;
    to_wire(invocation, HitlInvocation{.reason = HitlInvocation::Reason::kToolPrivilegeEscalation,
                                       .context = "{}",
                                       .proposed_actions = {"approve", "deny"}});
    EXPECT_EQ(invocation, unhex("080712027b7d1a07617070726f76651a0464656e79"));
    // and an unknown field, 13
    const std::string decided = unhex("0a07617070726f766512017b1a0266796801");
    const auto decision = parse_hitl_decision(decided);
    ASSERT_TRUE(decision);
    EXPECT_EQ(decision->action, "approve");
    EXPECT_EQ(decision->payload, "{");
    EXPECT_EQ(decision->rationale, "fy");
    const std::string bound = unhex("0a0667617264656e12046d61696e1a0a424f554e445f484f4d45");
    const auto status = parse_worktree_status(bound);
    ASSERT_TRUE(status);
    EXPECT_EQ(status->repo_id, "garden");
    EXPECT_EQ(status->worktree_id, "main");
    EXPECT_EQ(status->state, "BOUND_HOME");
    EXPECT_FALSE(parse_worktree_status(unhex("0a05616263")));
}

TEST(Messages, WhatIsCutOffOrHasAGroupIsNoMessage) {
    const std::string whole = unhex(kCall);
    for (std::size_t size = 1; size < whole.size(); ++size) {
        const std::string part = whole.substr(0, size);
        const auto call = parse_tool_call(part);
        if (call) EXPECT_NE(*call, golden_call()) << size;
    }
    EXPECT_FALSE(parse_tool_call(unhex("0b")));        // a group
    EXPECT_FALSE(parse_tool_call(unhex("00")));        // field number 0
    EXPECT_FALSE(parse_tool_call(unhex("0a05616263")));  // longer than the message
    // a number of more than 64 bits
    EXPECT_FALSE(parse_tool_call(unhex("38ffffffffffffffffffff01")));
}

TEST(Messages, ADurationWithSignsThatDifferOrTooManyNanosIsMalformed) {
    EXPECT_EQ((Duration{1, 500'000'000}).value(), std::chrono::milliseconds(1'500));
    EXPECT_EQ((Duration{-5, 0}).value(), std::chrono::seconds(-5));
    EXPECT_EQ((Duration{0, 0}).value(), std::chrono::nanoseconds(0));
    EXPECT_FALSE((Duration{0, 2'000'000'000}).value());
    EXPECT_FALSE((Duration{1, -1}).value());
    EXPECT_FALSE((Duration{-1, 1}).value());
    EXPECT_FALSE((Duration{400'000'000'000, 0}).value());
    EXPECT_GT((Duration{300'000'000'000, 0}).value(), std::chrono::hours(24 * 365));
}

}  // namespace
}  // namespace crab::sw4rm
