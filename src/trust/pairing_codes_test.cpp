#include "trust/pairing_codes.hpp"

#include "base/test_clock.hpp"
#include "trust/test_token_store.hpp"

#include <gtest/gtest.h>

#include <regex>

namespace crab::trust {
namespace {

using namespace std::chrono_literals;

class PairingCodesTest : public testing::Test {
protected:
    std::string open(PairingOffer offer = {}) {
        return codes.open(std::move(offer)).value().code.reveal();
    }
    /// What redeeming answers, from an address of its own so that only the code decides.
    ErrorCode refusal(const std::string& code) {
        const auto answer = codes.redeem(code, "192.0.2." + std::to_string(++address_));
        return answer ? ErrorCode::kInternal : answer.error().code;
    }
    static std::string another_than(std::string code) {
        code.back() = code.back() == '0' ? '1' : '0';
        return code;
    }

    FakeClock clock;
    TokenStoreMemory store;
    std::unique_ptr<Tokens> tokens = std::move(Tokens::load(store, clock).value());
    PairingCodes codes{*tokens, clock};

private:
    int address_ = 0;
};

TEST_F(PairingCodesTest, ACodeIsThreeGroupsOfDigitsAndGivesAWorkingTokenOnce) {
    const auto code = open({.name = "Kitchen tablet", .lifetime = 1h});
    EXPECT_TRUE(std::regex_match(code, std::regex("[0-9]{4}-[0-9]{4}-[0-9]{4}"))) << code;
    const auto issued = codes.redeem(code, "192.0.2.200").value();
    EXPECT_EQ(tokens->prove(issued.token.reveal()).value().principal->id, "device/kitchen-tablet");
    EXPECT_EQ(issued.record.expires_at, clock.system_now() + 1h);
    EXPECT_EQ(refusal(code), ErrorCode::kNotFound);
}

TEST_F(PairingCodesTest, TheKeyThatTheOperatorVouchedForIsBelievedAndNoOther) {
    const auto roles_of = [&](const std::string& code, const std::string& key) {
        return codes.redeem(code, "192.0.2.200", key).value().record.roles;
    };
    for (const auto& [brought, believed] :
         {std::pair{"its key", true}, {"another key", false}, {"", false}}) {
        const auto code = open();
        ASSERT_TRUE(codes.vouch(code, "its key"));
        const core::Roles roles = roles_of(code, brought);
        EXPECT_TRUE(roles.has(core::Role::kDevice));
        EXPECT_EQ(roles.has(core::Role::kTrustedDevice), believed) << brought;
    }
    EXPECT_FALSE(roles_of(open(), "a further key").has(core::Role::kTrustedDevice))
        << "nobody vouched";
}

TEST_F(PairingCodesTest, OnlyAnOpenCodeOfADeviceCanBeVouchedFor) {
    const auto code = open();
    EXPECT_EQ(codes.vouch(another_than(code), "key").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(codes.vouch(open({.name = "ci", .roles = core::Roles{core::Role::kCaller}}), "key")
                  .error()
                  .code,
              ErrorCode::kNotFound);
    clock.advance(5min);
    EXPECT_EQ(codes.vouch(code, "key").error().code, ErrorCode::kNotFound);
}

TEST_F(PairingCodesTest, AUsedCodeIsWrongWhileAnotherIsOpen) {
    const auto used = open();
    const auto other = open();
    ASSERT_TRUE(codes.redeem(used, "192.0.2.200"));
    EXPECT_EQ(refusal(used), ErrorCode::kForbidden);
    EXPECT_TRUE(codes.redeem(other, "192.0.2.200"));
}

TEST_F(PairingCodesTest, WhatBecameOfACodeIsToldByItsId) {
    const auto state_of = [&](const std::string& id) -> std::pair<std::string_view, std::string> {
        for (const PairingProgress& each : codes.recent())
            if (each.id == id) return {each.state, each.device};
        return {};
    };
    const auto used = codes.open({.name = "Phone"}), closed = codes.open({}), left = codes.open({});
    EXPECT_EQ(state_of(used->id).first, "open");
    const auto paired = codes.redeem(used->code.reveal(), "192.0.2.1");
    ASSERT_TRUE(paired);
    EXPECT_EQ(state_of(used->id), std::pair(std::string_view("paired"), paired->slug));
    EXPECT_TRUE(codes.end(closed->id));
    EXPECT_EQ(state_of(closed->id).first, "ended");
    clock.advance(6min);
    EXPECT_EQ(state_of(left->id).first, "expired");
    EXPECT_EQ(state_of(used->id).first, "paired");
}

TEST_F(PairingCodesTest, DashesAndSpacesDoNotMatter) {
    std::string code = open();
    code.erase(4, 1).insert(0, " ");
    EXPECT_TRUE(codes.redeem(code, "192.0.2.200"));
}

TEST_F(PairingCodesTest, WithoutAnOpenCodeThereIsNothingToRedeem) {
    EXPECT_EQ(refusal("0000-0000-0000"), ErrorCode::kNotFound);
}

TEST_F(PairingCodesTest, ACodeIsGoodForFiveMinutesAndNoLonger) {
    const auto first = open();
    clock.advance(5min - 1ms);
    EXPECT_TRUE(codes.redeem(first, "192.0.2.200"));
    const auto second = open();
    clock.advance(5min);
    EXPECT_EQ(refusal(second), ErrorCode::kNotFound);
}

TEST_F(PairingCodesTest, FourWrongTriesLeaveACodeAliveAndTheFifthKillsAllOpenOnes) {
    const auto first = open();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(refusal(another_than(first)), ErrorCode::kForbidden);
    const auto second = open();
    EXPECT_TRUE(codes.redeem(first, "192.0.2.200"));
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(refusal(i == 0 ? "" : another_than(second)), ErrorCode::kForbidden);
    EXPECT_EQ(refusal(second), ErrorCode::kNotFound);
}

TEST_F(PairingCodesTest, TheEleventhTryWithinAMinuteOfOneAddressHasToWait) {
    const std::string address = "198.51.100.7";
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(codes.redeem("0000-0000-0000", address).error().code, ErrorCode::kNotFound);
    const auto code = open();
    clock.advance(20s);
    const auto refused = codes.redeem(code, address);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kRateLimited);
    EXPECT_EQ(refused.error().retry_after, 40s);
    clock.advance(40s - 1ms);
    EXPECT_EQ(codes.redeem(code, address).error().code, ErrorCode::kRateLimited);
    clock.advance(1ms);
    EXPECT_TRUE(codes.redeem(code, address));
}

TEST_F(PairingCodesTest, TheLimitOfOneAddressIsNotThatOfAnother) {
    for (int i = 0; i < 11; ++i) (void)codes.redeem("0000-0000-0000", "198.51.100.7");
    EXPECT_TRUE(codes.redeem(open(), "198.51.100.8"));
}

TEST_F(PairingCodesTest, RememberedAddressesAreBoundedAndForgottenAfterAMinute) {
    PairingCodes small(*tokens, clock, {.max_addresses = 2});
    EXPECT_EQ(small.redeem("1", "a").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(small.redeem("1", "b").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(small.redeem("1", "c").error().code, ErrorCode::kRateLimited);
    EXPECT_EQ(small.redeem("1", "a").error().code, ErrorCode::kNotFound);
    clock.advance(1min);
    EXPECT_EQ(small.redeem("1", "c").error().code, ErrorCode::kNotFound);
}

TEST_F(PairingCodesTest, ACodeThatWasEndedIsWrongAndTheOthersAreNot) {
    const auto first = codes.open({.name = "one", .lifetime = {}}).value();
    const auto second = codes.open({.name = "two", .lifetime = {}}).value();
    EXPECT_NE(first.id, second.id);
    EXPECT_TRUE(codes.end(first.id));
    EXPECT_EQ(codes.end(first.id).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(codes.redeem(first.code.reveal(), "192.0.2.1").error().code, ErrorCode::kForbidden);
    EXPECT_TRUE(codes.redeem(second.code.reveal(), "192.0.2.1"));
    EXPECT_EQ(codes.end(second.id).error().code, ErrorCode::kNotFound) << "it was used";
}

TEST_F(PairingCodesTest, OnlySoManyCodesAreOpenAtATime) {
    for (int i = 0; i < 32; ++i) open();
    const auto refused = codes.open({});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kRateLimited);
    clock.advance(5min);
    EXPECT_TRUE(codes.open({})) << "the others have run out";
}

TEST_F(PairingCodesTest, ACodeStaysGoodWhenItsTokenCannotBeStored) {
    const auto code = open({.name = "phone"});
    store.failure = Error{.code = ErrorCode::kUnavailable, .message = "disk full"};
    EXPECT_EQ(refusal(code), ErrorCode::kUnavailable);
    store.failure.reset();
    EXPECT_EQ(codes.redeem(code, "192.0.2.200").value().slug, "phone");
}

TEST_F(PairingCodesTest, AKnownDeviceCanBePairedAgainAndKeepsItsName) {
    ASSERT_TRUE(codes.redeem(open({.name = "phone"}), "192.0.2.200"));
    EXPECT_EQ(codes.redeem(open({.name = "phone", .device = "phone"}), "192.0.2.200").value().slug,
              "phone");
    EXPECT_EQ(tokens->devices().size(), 1u);
}

}  // namespace
}  // namespace crab::trust
