#include "cli/pair_flags.hpp"

#include <gtest/gtest.h>

namespace crab::cli {
namespace {

using Words = std::vector<std::string>;

Words ordered(std::initializer_list<const char*> words) {
    return pair_flags_last(Words(words.begin(), words.end()));
}

TEST(PairFlagsTest, FlagsStandAnywhereWithOneOrTwoDashes) {
    const Words wanted{"pair",      "tool", "ws://a",    "memory",
                       "--timeout", "5s",   "--replace", "--remote-key=B64="};
    EXPECT_EQ(ordered({"pair", "tool", "ws://a", "memory", "--timeout", "5s", "--replace",
                       "--remote-key=B64="}),
              wanted);
    EXPECT_EQ(ordered({"-timeout", "5s", "pair", "-replace", "tool", "ws://a",
                       "-remote-key=B64=", "memory"}),
              wanted);
    EXPECT_EQ(ordered({"pair", "--timeout", "5s", "tool", "ws://a", "-replace",
                       "--remote-key=B64=", "memory"}),
              wanted);
}

TEST(PairFlagsTest, WhatIsNoFlagOfPairStaysAWord) {
    EXPECT_EQ(ordered({"pair", "-x", "test"}), (Words{"pair", "-x", "test"}));
    EXPECT_EQ(ordered({"peers", "pair", "-replace", "test"}),
              (Words{"peers", "pair", "test", "--replace"}));
    EXPECT_EQ(ordered({"pair", "test", "--", "-replace"}), (Words{"pair", "test", "-replace"}));
    // the parser says what is missing
    EXPECT_EQ(ordered({"pair", "test", "--timeout"}), (Words{"pair", "test", "--timeout"}));
}

TEST(PairFlagsTest, OtherCommandsKeepTheirArguments) {
    EXPECT_EQ(ordered({"call", "--timeout", "5s", "pair"}),
              (Words{"call", "--timeout", "5s", "pair"}));
    EXPECT_EQ(ordered({"devices", "pair", "-help"}), (Words{"devices", "pair", "-help"}));
    EXPECT_EQ(ordered({}), Words());
}

}  // namespace
}  // namespace crab::cli
