#include "core/pipeline/away_calls.hpp"

#include "base/task/test_loop.hpp"
#include "core/call/test_tools.hpp"

#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;
using Place = std::unique_ptr<AwayCalls::Place>;

ToolRef reading(std::string name, std::string slug, ConnectionId connection,
                std::string tenant = {}) {
    ToolSpec spec;
    spec.annotations.read_only = true;
    return tool_of(std::move(name), std::move(slug), connection, std::move(tenant),
                   std::move(spec));
}

struct AwayCallsTest : testing::Test {
    TestLoop loop;
    Published<CallRules> rules{rules_with({})};
    AwayCalls calls{rules, {.devices = 2, .waiting = 3}};
    const PrincipalRef ann = principal_of("caller/ann");

    static std::shared_ptr<const CallRules> rules_with(std::vector<PolicyRule> policy) {
        auto made = std::make_shared<CallRules>();
        made->policy = policy_of(std::move(policy));
        return made;
    }
    void leave(ConnectionId connection, const ToolRef& tool) {
        calls.left(connection, std::span(&tool, 1));
    }
    void come(const ToolRef& tool) { calls.came(std::span(&tool, 1)); }
    Result<Place> enter(std::string_view tool, const PrincipalRef& who,
                        std::string_view tenant = {}, std::string_view id = "c1") {
        Call call;
        call.tool = tool;
        call.tenant = tenant;
        call.id = id;
        return calls.enter(call, who, loop.executor(), loop.timers);
    }
    Result<Place> enter(std::string_view tool) { return enter(tool, ann); }
    ErrorCode refusal(std::string_view tool) { return enter(tool).error().code; }
    auto wait(const Place& place) { return loop.start(place->wait(loop.in(5s))); }
};

TEST_F(AwayCallsTest, WhatNobodyOfferedIsNotWaitedFor) {
    EXPECT_EQ(refusal("thermometer"), ErrorCode::kToolNotFound);
    come(reading("thermometer", "kitchen", ConnectionId{1}));
    EXPECT_EQ(refusal("thermometer"), ErrorCode::kToolNotFound) << "it is there, not away";
    EXPECT_EQ(calls.waiting(), 0u);
}

TEST_F(AwayCallsTest, OnlyToolsThatSayTheyChangeNothingAreWaitedFor) {
    leave(ConnectionId{1}, tool_of("door", "hall", ConnectionId{1}));
    ToolSpec lamp;
    lamp.annotations.read_only = true;
    lamp.side_effects = true;
    leave(ConnectionId{2}, tool_of("lamp", "hall", ConnectionId{2}, {}, std::move(lamp)));
    EXPECT_EQ(refusal("door"), ErrorCode::kToolNotFound);
    EXPECT_EQ(refusal("lamp"), ErrorCode::kToolNotFound);
}

TEST_F(AwayCallsTest, ACallWakesWhenItsToolComesByEitherOfItsNames) {
    leave(ConnectionId{1}, reading("thermometer", "kitchen", ConnectionId{1}));
    for (const char* name : {"thermometer", "kitchen__thermometer"}) {
        const auto place = enter(name);
        ASSERT_TRUE(place) << name;
        const auto waited = wait(*place);
        come(reading("camera", "kitchen", ConnectionId{2}));
        loop.settle();
        EXPECT_FALSE(waited->ended()) << name;
        come(reading("thermometer", "kitchen", ConnectionId{2}));
        loop.settle();
        EXPECT_EQ(waited->get(), WaitEnd::kWoken) << name;
        EXPECT_EQ((*place)->ended(), std::nullopt);
    }
}

TEST_F(AwayCallsTest, AToolThatCameBetweenTheLookAndTheWaitIsNotMissed) {
    leave(ConnectionId{1}, reading("thermometer", "kitchen", ConnectionId{1}));
    const auto place = enter("thermometer");
    come(reading("thermometer", "kitchen", ConnectionId{2}));
    loop.settle();
    EXPECT_EQ(wait(*place)->get(), WaitEnd::kWoken);
}

TEST_F(AwayCallsTest, TheWaitEndsAtItsDeadline) {
    leave(ConnectionId{1}, reading("thermometer", "kitchen", ConnectionId{1}));
    const auto place = enter("thermometer");
    const auto waited = wait(*place);
    loop.advance(6s);
    EXPECT_EQ(waited->get(), WaitEnd::kExpired);
}

TEST_F(AwayCallsTest, OfTwoDevicesWithTheNameAnyWillDo) {
    leave(ConnectionId{1}, reading("thermometer", "kitchen", ConnectionId{1}));
    leave(ConnectionId{2}, reading("thermometer", "cellar", ConnectionId{2}));
    const auto place = enter("thermometer");
    ASSERT_TRUE(place);
    const auto waited = wait(*place);
    come(reading("thermometer", "cellar", ConnectionId{3}));
    loop.settle();
    EXPECT_EQ(waited->get(), WaitEnd::kWoken);
}

TEST_F(AwayCallsTest, WhatTheCallerMayNotCallIsAsUnknownAsIfItHadNeverBeenThere) {
    PolicyRule rule;
    rule.principal = Glob("caller/ann");
    rule.call_deny = globs({"thermometer"});
    rules.set(rules_with({rule}));
    leave(ConnectionId{1}, reading("thermometer", "kitchen", ConnectionId{1}));
    EXPECT_EQ(refusal("thermometer"), ErrorCode::kToolNotFound);
    EXPECT_TRUE(enter("thermometer", principal_of("caller/bob")));
}

TEST_F(AwayCallsTest, ACredentialOfAnotherTenantSeesNothing) {
    leave(ConnectionId{1}, reading("thermometer", "kitchen", ConnectionId{1}, "acme"));
    EXPECT_EQ(enter("thermometer", principal_of("caller/eve", {Role::kCaller}, "other"), "acme")
                  .error()
                  .code,
              ErrorCode::kToolNotFound);
    EXPECT_EQ(enter("thermometer", ann, "other").error().code, ErrorCode::kToolNotFound);
    EXPECT_TRUE(enter("thermometer", ann, "acme"));
}

TEST_F(AwayCallsTest, NoMoreCallsWaitThanAllowedAndOneThatLeavesMakesRoom) {
    leave(ConnectionId{1}, reading("thermometer", "kitchen", ConnectionId{1}));
    std::vector<Result<Place>> places;
    for (int i = 0; i < 3; ++i) places.push_back(enter("thermometer"));
    EXPECT_EQ(calls.waiting(), 3u);
    const auto fourth = enter("thermometer");
    ASSERT_FALSE(fourth);
    EXPECT_EQ(fourth.error().code, ErrorCode::kRateLimited);
    EXPECT_TRUE(fourth.error().retryable && fourth.error().retry_after);
    places.pop_back();
    EXPECT_TRUE(enter("thermometer"));
}

TEST_F(AwayCallsTest, TheOldestDevicesAreForgotten) {
    for (std::uint64_t i = 1; i <= 3; ++i)
        leave(ConnectionId{i},
              reading("tool" + std::to_string(i), "device" + std::to_string(i), ConnectionId{i}));
    EXPECT_EQ(refusal("tool1"), ErrorCode::kToolNotFound);
    EXPECT_TRUE(enter("tool2"));
    EXPECT_TRUE(enter("tool3"));
}

TEST_F(AwayCallsTest, ACancelByIdEndsTheWaitOfThoseWhoMayBeCancelled) {
    leave(ConnectionId{1}, reading("thermometer", "kitchen", ConnectionId{1}));
    const PrincipalRef bob = principal_of("caller/bob");
    const auto anns = enter("thermometer", ann, {}, "c1"),
               bobs = enter("thermometer", bob, {}, "c1"),
               other = enter("thermometer", ann, {}, "c2");
    const auto ann_waits = wait(*anns), bob_waits = wait(*bobs), other_waits = wait(*other);
    const auto anns_own = [](const Principal& owner, std::string_view) {
        return owner.id == "caller/ann";
    };
    EXPECT_EQ(calls.cancel("c1", anns_own), 1u);
    EXPECT_EQ(calls.cancel("c9", anns_own), 0u);
    loop.settle();
    EXPECT_TRUE(ann_waits->ended() && (*anns)->ended());
    EXPECT_EQ((*anns)->ended()->code, ErrorCode::kCancelled);
    EXPECT_FALSE(bob_waits->ended() || (*bobs)->ended());
    EXPECT_FALSE(other_waits->ended() || (*other)->ended());
}

TEST_F(AwayCallsTest, AGatewayThatStopsEndsWhatWaitsAndWhatComesLater) {
    const ToolRef tool = reading("thermometer", "kitchen", ConnectionId{1});
    leave(ConnectionId{1}, tool);
    const auto place = enter("thermometer");
    ASSERT_TRUE(place);
    const auto waits = wait(*place);
    calls.stop();
    loop.advance(0ms);
    EXPECT_TRUE(waits->ended());
    const auto later = enter("thermometer");
    for (const Place* each : {&*place, &*later}) {
        const auto why = (*each)->ended();
        ASSERT_TRUE(why);
        EXPECT_EQ(why->code, ErrorCode::kUnavailable);
        EXPECT_TRUE(why->retryable);
        EXPECT_NE(why->message.find("stopping"), std::string::npos);
    }
}

}  // namespace
}  // namespace crab::core
