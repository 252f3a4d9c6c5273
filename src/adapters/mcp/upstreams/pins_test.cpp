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

TEST(McpPins, AnUpstreamThatRenamesItsEntriesForEverFillsNothing) {
    Pins pins("files", PinMode::kTrustFirst, {.most = 3, .bytes = 1'000});
    pins.know(std::vector<trust::Pin>());
    std::size_t stored = 0, held = 0;
    for (int i = 0; i < 100; ++i) {
        const auto judged = pins.judge({tool("t" + std::to_string(i), "text")});
        pins.accept(judged.first_seen);
        stored += judged.first_seen.size();
        for (const HeldBack& each : judged.held) held += each.why == HeldBack::Why::kTooMany;
    }
    EXPECT_EQ(stored, 3U);
    EXPECT_EQ(held, 97U);
    EXPECT_TRUE(pins.judge({tool("t0", "text")}).held.empty()) << "known ones go on";
}

TEST(McpPins, TextsGiveWayBeforeEntriesDo) {
    Pins pins("files", PinMode::kTrustFirst, {.most = 100, .bytes = 50});
    pins.know(std::vector<trust::Pin>());
    const auto judged =
        pins.judge({tool("a", std::string(40, 'x')), tool("b", std::string(40, 'y')),
                    tool(std::string(40, 'k'), "z")});
    ASSERT_EQ(judged.first_seen.size(), 2U);
    EXPECT_FALSE(judged.first_seen[0].text.empty());
    EXPECT_TRUE(judged.first_seen[1].text.empty()) << "its digest is enough";
    EXPECT_EQ(judged.held.at(0).why, HeldBack::Why::kTooMany);
}

TEST(McpPins, OneOfWhichNothingWasAcceptedIsHeldAsAWhole) {
    Pins asking("files", PinMode::kAsk);
    EXPECT_EQ(asking.holds_all(), HeldBack::Why::kUnreadable);
    asking.know(std::vector<trust::Pin>());
    EXPECT_EQ(asking.holds_all(), HeldBack::Why::kNew);
    asking.accept({asking.pin_of(tool("t", "x"))});
    EXPECT_EQ(asking.holds_all(), std::nullopt);
    Pins trusting("files", PinMode::kTrustFirst);
    trusting.know(std::vector<trust::Pin>());
    EXPECT_EQ(trusting.holds_all(), std::nullopt);
    EXPECT_EQ(Pins("files", PinMode::kOff).holds_all(), std::nullopt);
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
