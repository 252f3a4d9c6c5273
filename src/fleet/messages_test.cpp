#include "fleet/messages.hpp"

#include "core/call/test_tools.hpp"

#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace crab::fleet {
namespace {

using namespace std::chrono_literals;

const ForwardId kSomeId{.high = 0x0102'0304'0506'0708, .low = 9};

core::PrincipalRef ann() {
    auto made = std::make_shared<core::Principal>();
    made->id = "caller/ann";
    made->tenant = TenantId("acme");
    made->more_tenants = {TenantId("beta"), TenantId("")};
    made->roles = {core::Role::kCaller, core::Role::kSubscriber};
    made->proof = core::Proof::kBearerToken;
    made->device = "kitchen";
    made->credential_id = "t-7";
    return made;
}

std::string forward_of(const core::Call& call) {
    const ForwardHead head{.id = kSomeId, .connection = 5, .epoch = 6, .beat = 7};
    return forward_to_wire(head, call, *ann());
}

TEST(FleetMessagesTest, ACallArrivesWithAllThatItsOwnerNeeds) {
    core::Call call;
    call.id = "mine";
    call.tool = "kitchen__lamp";
    call.args = R"({"on":true})";
    call.idempotency_key = "k";
    call.tenant = "acme";
    call.context.agent_id = "planner";
    call.context.request_origin = "https://example.org";
    call.acts_for_agent = true;
    call.timeout = 0ms;
    call.policy.max_retries = 0;
    call.policy.network_policy = "none";
    call.policy.budget_wall_ms = 90;
    call.client.name = "an app";
    call.front = "http";
    const std::string body = forward_of(call);

    const auto head = parse_forward_head(body);
    ASSERT_TRUE(head);
    EXPECT_EQ(head->id, kSomeId);
    EXPECT_EQ(head->connection, 5u);
    EXPECT_EQ(head->epoch, 6u);
    EXPECT_EQ(head->beat, 7u);
    const auto read = ForwardedCall::parse(body);
    ASSERT_TRUE(read) << read.error().message;
    const core::Call& same = (*read)->call();
    EXPECT_EQ(same.id, "mine");
    EXPECT_EQ(same.tool, call.tool);
    EXPECT_EQ(same.args, call.args);
    EXPECT_EQ(same.idempotency_key, "k");
    EXPECT_EQ(same.context.agent_id, "planner");
    EXPECT_EQ(same.context.request_origin, call.context.request_origin);
    EXPECT_TRUE(same.acts_for_agent);
    EXPECT_EQ(same.timeout, 0ms);
    EXPECT_EQ(same.policy.max_retries, 0u);
    EXPECT_EQ(same.policy.network_policy, "none");
    EXPECT_EQ(same.policy.budget_wall_ms, 90u);
    EXPECT_EQ(same.client.name, "an app");
    EXPECT_EQ(same.front, "http");
    const core::Principal& who = *(*read)->principal();
    EXPECT_EQ(who.id, "caller/ann");
    EXPECT_EQ(who.tenant.text(), "acme");
    EXPECT_EQ(who.more_tenants, ann()->more_tenants);
    EXPECT_EQ(who.roles, ann()->roles);
    EXPECT_EQ(who.proof, core::Proof::kBearerToken);
    EXPECT_EQ(who.device, "kitchen");
    EXPECT_EQ(who.credential_id, "t-7");
}

TEST(FleetMessagesTest, AnIdThatAGatewayMadeIsNotTakenForTheCallers) {
    core::Call call;
    call.tool = "t";
    call.made_id = UuidText(0x0123'4567'89ab'cdef, 0xfedc'ba98'7654'3210);
    call.id = call.made_id.view();
    auto read = ForwardedCall::parse(forward_of(call));
    ASSERT_TRUE(read);
    EXPECT_EQ((*read)->call().id, call.id);
    EXPECT_EQ((*read)->call().id.data(), (*read)->call().made_id.view().data());
    core::Call same_id;
    same_id.tool = "t";
    same_id.id = call.id;
    read = ForwardedCall::parse(forward_of(same_id));
    ASSERT_TRUE(read);
    EXPECT_NE((*read)->call().id.data(), (*read)->call().made_id.view().data());
}

TEST(FleetMessagesTest, ACallWithoutPrincipalToolOrIdIsNone) {
    core::Call call;
    call.id = "c";
    EXPECT_FALSE(ForwardedCall::parse(forward_of(call))) << "no tool";
    call.tool = "t";
    EXPECT_TRUE(ForwardedCall::parse(forward_of(call)));
    EXPECT_FALSE(
        ForwardedCall::parse(forward_to_wire({.id = kSomeId}, call, *core::principal_of(""))))
        << "anonymous";
    call.id = {};
    EXPECT_FALSE(ForwardedCall::parse(forward_of(call))) << "no id";
    EXPECT_FALSE(parse_forward_head("")) << "no forward id";
}

TEST(FleetMessagesTest, EveryCutOfAForwardIsReadInBoundsAndRefusedOrWhole) {
    core::Call call;
    call.id = "c";
    call.tool = "t";
    call.args = "{}";
    const std::string body = forward_of(call);
    for (std::size_t size = 0; size < body.size(); ++size) {
        const auto read = ForwardedCall::parse(body.substr(0, size));
        if (read) EXPECT_FALSE((*read)->principal()->id.empty()) << size;
    }
}

core::CallEnd end_of(core::Outcome outcome) {
    core::CallEnd end{.outcome = std::make_shared<const core::Outcome>(std::move(outcome))};
    end.duration = 1'234'567ns;
    end.attempts = 2;
    end.replayed = true;
    end.approval_id = "a-1";
    end.cancelled_by = "local/0";
    return end;
}

TEST(FleetMessagesTest, AResultArrivesAsItWas) {
    core::ToolResult result{.kind = core::ContentKind::kBytes,
                            .content = std::string("\0\xff", 2),
                            .content_type = "image/png",
                            .logs = {"one", ""}};
    result.usage = {.cpu = 5ms, .wall = 6ms, .peak_memory_bytes = 7, .output_bytes = 8};
    result.usage.exit_status = -1;
    result.extras = std::make_shared<const core::ResultExtras>(
        core::ResultExtras{.unenforced = {"x"}, .place = "p", .presentation = "{}"});
    core::CallEnd end = end_of(result);
    end.tool = core::tool_of("lamp", "kitchen", ConnectionId{1});
    const auto read = parse_result(to_wire({.id = kSomeId, .left_no_trace = false}, end));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->head.id, kSomeId);
    const core::CallEnd& same = read->end;
    ASSERT_TRUE(*same.outcome);
    const core::ToolResult& got = **same.outcome;
    EXPECT_EQ(got.kind, result.kind);
    EXPECT_EQ(got.content, result.content);
    EXPECT_EQ(got.content_type, result.content_type);
    EXPECT_EQ(got.logs, result.logs);
    EXPECT_EQ(got.usage.cpu, 5ms);
    EXPECT_EQ(got.usage.exit_status, -1);
    EXPECT_EQ(got.extras->unenforced, result.extras->unenforced);
    EXPECT_EQ(got.extras->place, "p");
    EXPECT_EQ(same.duration, end.duration);
    EXPECT_EQ(same.attempts, 2u);
    EXPECT_TRUE(same.replayed);
    EXPECT_EQ(same.approval_id, "a-1");
    EXPECT_EQ(same.cancelled_by, "local/0");
    ASSERT_TRUE(same.tool);
    EXPECT_EQ(same.tool->unique_name, "kitchen__lamp");
}

TEST(FleetMessagesTest, EveryErrorArrivesAsItWas) {
    for (const ErrorCode code : all_error_codes()) {
        const Error error{.code = code,
                          .message = "why",
                          .details = R"({"a":1})",
                          .retryable = code != ErrorCode::kTimeout,
                          .retry_after = 0ms};
        const auto read =
            parse_result(to_wire({.id = kSomeId, .left_no_trace = true}, end_of(fail(error))));
        ASSERT_TRUE(read) << token_of(code);
        EXPECT_TRUE(read->head.left_no_trace);
        const Error& same = read->end.outcome->error();
        EXPECT_EQ(same.code, code);
        EXPECT_EQ(same.message, error.message);
        EXPECT_EQ(same.details, error.details);
        EXPECT_EQ(same.retryable, error.retryable);
        EXPECT_EQ(same.retry_after, 0ms);
    }
    const auto plain =
        parse_result(to_wire({.id = kSomeId}, end_of(fail(ErrorCode::kToolFailed, "no"))));
    EXPECT_FALSE(plain->end.outcome->error().retryable);
    EXPECT_FALSE(plain->end.outcome->error().retry_after);
}

TEST(FleetMessagesTest, AnEndThatSaysNothingOrTooMuchIsRefused) {
    EXPECT_FALSE(parse_result(""));
    EXPECT_FALSE(parse_result(to_wire(Taken{kSomeId}))) << "neither content nor error";
    const std::string ok = to_wire({.id = kSomeId}, end_of(core::ToolResult{.content = "x"}));
    const std::string bad = to_wire({.id = kSomeId}, end_of(fail(ErrorCode::kTimeout, "x")));
    EXPECT_TRUE(parse_result(ok));
    EXPECT_FALSE(parse_result(ok + bad)) << "both";
}

TEST(FleetMessagesTest, TheSmallOnesArriveAsTheyWere) {
    EXPECT_EQ(parse_taken(to_wire(Taken{kSomeId}))->id, kSomeId);
    const auto refused =
        parse_refused(to_wire(Refused{.id = kSomeId, .why = Refusal::kStale, .copy = 44}));
    EXPECT_EQ(refused->why, Refusal::kStale);
    EXPECT_EQ(refused->copy, 44u);
    EXPECT_EQ(parse_ack(to_wire(Ack{{kSomeId, ForwardId{1, 2}}}))->ids.size(), 2u);
    EXPECT_EQ(parse_cancel(to_wire(Cancel{.id = kSomeId, .beat = 3}))->beat, 3u);
    EXPECT_EQ(parse_beat(to_wire(Beat{12}))->number, 12u);
    const auto bell = parse_hint(to_wire(Hint{.revoked = {}, .events = true}));
    EXPECT_TRUE(bell->events);
    const auto revoked = parse_hint(to_wire(Hint{.revoked = {"a", "b"}}));
    EXPECT_EQ(revoked->revoked.size(), 2u);
    EXPECT_FALSE(revoked->events);
}

TEST(FleetMessagesTest, ARefusalThatNamesNoCopyProvesNothingAndIsNone) {
    EXPECT_FALSE(parse_refused(to_wire(Refused{.id = kSomeId, .why = Refusal::kGone, .copy = 0})));
    EXPECT_FALSE(parse_beat(to_wire(Beat{0})));
    EXPECT_FALSE(parse_cancel(""));
    EXPECT_FALSE(parse_taken("\x01"));
}

}  // namespace
}  // namespace crab::fleet
