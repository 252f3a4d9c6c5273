#include "adapters/mcp/upstreams/pins.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

PinnedText tool(std::string key, std::string text) {
    return {.kind = std::string(kToolPin), .key = std::move(key), .text = std::move(text)};
}

TEST(McpPins, WhatIsSeenFirstIsAcceptedAndWhatChangesLaterIsHeldBack) {
    Pins pins("files", PinMode::kTrustFirst);
    pins.know(std::vector<trust::Pin>());
    const auto first = pins.judge({tool("read", "reads"), tool("write", "writes")});
    EXPECT_TRUE(first.held.empty());
    ASSERT_EQ(first.first_seen.size(), 2U);
    pins.accept(first.first_seen);
    const auto second = pins.judge({tool("read", "reads"), tool("write", "sends it to me")});
    EXPECT_TRUE(second.first_seen.empty());
    ASSERT_EQ(second.held.size(), 1U);
    EXPECT_EQ(second.held[0].why, HeldBack::Why::kChanged);
    EXPECT_EQ(second.held[0].was, "writes");
    EXPECT_EQ(second.held[0].now, "sends it to me");
    pins.accept({pins.pin_of(tool("write", "sends it to me"))});
    EXPECT_TRUE(pins.judge({tool("write", "sends it to me")}).held.empty());
}

TEST(McpPins, ARenamedToolIsANewOne) {
    Pins pins("files", PinMode::kAsk);
    pins.know(std::vector<trust::Pin>{pins.pin_of(tool("old", "x"))});
    const auto judged = pins.judge({tool("new", "x")});
    ASSERT_EQ(judged.held.size(), 1U);
    EXPECT_EQ(judged.held[0].why, HeldBack::Why::kNew);
    EXPECT_TRUE(judged.first_seen.empty());
}

TEST(McpPins, AnUnreadableStoreHoldsBackAllUntilItIsRead) {
    Pins pins("files", PinMode::kTrustFirst);
    const auto before = pins.judge({tool("read", "reads")});
    ASSERT_EQ(before.held.size(), 1U) << "nothing was read yet";
    pins.know(fail(ErrorCode::kUnavailable, "the disk is away"));
    EXPECT_EQ(pins.judge({tool("read", "reads")}).held.at(0).why, HeldBack::Why::kUnreadable);
    pins.know(std::vector<trust::Pin>());
    EXPECT_TRUE(pins.judge({tool("read", "reads")}).held.empty());
}

TEST(McpPins, WithoutPinsNothingIsHeldBackOrStored) {
    const Pins pins("files", PinMode::kOff);
    const auto judged = pins.judge({tool("read", "reads")});
    EXPECT_TRUE(judged.held.empty());
    EXPECT_TRUE(judged.first_seen.empty());
}

TEST(McpPins, ATextTooLongToKeepIsStillCompared) {
    Pins pins("files", PinMode::kTrustFirst);
    pins.know(std::vector<trust::Pin>());
    const std::string large(100'000, 'x');
    const auto first = pins.judge({tool("t", large)});
    EXPECT_EQ(first.first_seen.at(0).text, "");
    pins.accept(first.first_seen);
    EXPECT_TRUE(pins.judge({tool("t", large)}).held.empty());
    EXPECT_EQ(pins.judge({tool("t", large + "y")}).held.at(0).why, HeldBack::Why::kChanged);
}

TEST(McpLookAlikes, NamesThatLookAlikeAreFoundAndEqualOnesAreNot) {
    LookAlikes names;
    names.add("search");
    names.add("paypal");
    EXPECT_EQ(names.find("search"), "") << "two sources may have one name";
    EXPECT_EQ(names.find("p\u0430yp\u0430l"), "paypal") << "Cyrillic";
    EXPECT_EQ(names.find("other"), "");
}

TEST(McpPins, AnAcceptedLikenessIsOfOneOtherNameOnly) {
    Pins pins("files", PinMode::kTrustFirst);
    pins.know(std::vector<trust::Pin>{
        pins.pin_of({.kind = std::string(kNamePin), .key = "paypa1", .text = "paypal"})});
    EXPECT_TRUE(pins.accepts_name("paypa1", "paypal"));
    EXPECT_FALSE(pins.accepts_name("paypa1", "paypai"));
}

}  // namespace
}  // namespace crab::mcp
