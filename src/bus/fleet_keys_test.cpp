#include "bus/fleet_keys.hpp"

#include <string>

#include <gtest/gtest.h>

namespace crab::bus {
namespace {

const std::string kOne(64, '1'), kTwo(64, '2');

FleetKeys keys_of(const std::string& file, std::string_view fleet = "home") {
    return FleetKeys::parse(file, fleet).value();
}

std::string sealed(const FleetKeys& keys, std::string_view body = "body") {
    return keys.seal(
        {.kind = Kind::kBeat, .from = {.node = 1, .loop = 0, .boot = 9}, .to = {}, .sequence = 1},
        body);
}

TEST(FleetKeysTest, WhatOneKeySealsTheSameKeyChecks) {
    const FleetKeys keys = keys_of("# of the house\n\n  " + kOne + " \r\n");
    const std::string message = sealed(keys);
    const auto checked = keys.check(message);
    ASSERT_TRUE(checked);
    EXPECT_EQ(parse_envelope(*checked)->body, "body");
}

TEST(FleetKeysTest, AnyFlippedBitAndAnyCutIsRefused) {
    const FleetKeys keys = keys_of(kOne);
    const std::string message = sealed(keys);
    for (std::size_t bit = 0; bit < message.size() * 8; ++bit) {
        std::string flipped = message;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
        EXPECT_FALSE(keys.check(flipped)) << bit;
    }
    for (std::size_t size = 0; size < message.size(); ++size)
        EXPECT_FALSE(keys.check(std::string_view(message).substr(0, size))) << size;
}

TEST(FleetKeysTest, AnotherKeyAndAnotherFleetAreRefused) {
    const std::string message = sealed(keys_of(kOne));
    EXPECT_FALSE(keys_of(kTwo).check(message));
    EXPECT_FALSE(keys_of(kOne, "work").check(message)) << "the same key for another fleet";
}

TEST(FleetKeysTest, RotatesWithoutAMessageThatNobodyChecks) {
    const FleetKeys before = keys_of(kOne), both = keys_of(kOne + "\n" + kTwo),
                    turned = keys_of(kTwo + "\n" + kOne), after = keys_of(kTwo);
    // In each step nodes of both columns are running.
    for (const auto& [one, other] :
         {std::pair(&before, &both), {&both, &turned}, {&turned, &after}}) {
        EXPECT_TRUE(other->check(sealed(*one)));
        EXPECT_TRUE(one->check(sealed(*other)));
    }
    EXPECT_FALSE(after.check(sealed(before)));
}

TEST(FleetKeysTest, AFileThatHoldsNoKeyOrSomethingElseIsRefusedWithItsLine) {
    EXPECT_FALSE(FleetKeys::parse("", "home"));
    EXPECT_FALSE(FleetKeys::parse("# nothing\n", "home"));
    const auto bad = FleetKeys::parse(kOne + "\n" + kOne.substr(1) + "\n", "home");
    ASSERT_FALSE(bad);
    EXPECT_NE(bad.error().message.find("line 2"), std::string::npos) << bad.error().message;
    EXPECT_EQ(bad.error().message.find("1111"), std::string::npos) << "and never the key";
    std::string many;
    for (int i = 0; i < 9; ++i) many += kOne + "\n";
    EXPECT_FALSE(FleetKeys::parse(many, "home"));
}

}  // namespace
}  // namespace crab::bus
