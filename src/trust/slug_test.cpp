#include "trust/slug.hpp"

#include <gtest/gtest.h>

#include <set>

namespace crab::trust {
namespace {

TEST(SlugTest, NamesBecomeLowerCaseWordsWithDashes) {
    EXPECT_EQ(make_slug("Kitchen tablet", "device"), "kitchen-tablet");
    EXPECT_EQ(make_slug("  Pixel 8 (Ann's) ", "device"), "pixel-8-ann-s");
    EXPECT_EQ(make_slug("living_room", "device"), "living_room");
    EXPECT_EQ(make_slug("a__b--c_-_d", "device"), "a_b-c_d");
    EXPECT_EQ(make_slug("台所", "device"), "device");
    EXPECT_EQ(make_slug("", "device"), "device");
}

TEST(SlugTest, WhateverTheNameTheSlugIsOne) {
    for (const std::string& name :
         {std::string(500, 'x'), std::string("_a_"), std::string("a\0b", 3),
          std::string("x") + std::string(60, '_') + "y"}) {
        EXPECT_TRUE(is_slug(make_slug(name, "device"))) << make_slug(name, "device");
    }
}

TEST(SlugTest, TheSeparatorOfQualifiedNamesIsInNoSlug) {
    EXPECT_FALSE(is_slug("kitchen__tablet"));
    EXPECT_FALSE(is_slug("kitchen_"));
    EXPECT_FALSE(is_slug("_kitchen"));
    EXPECT_FALSE(is_slug("Kitchen"));
    EXPECT_FALSE(is_slug(""));
    EXPECT_FALSE(is_slug(std::string(kMaxSlugSize + 1, 'a')));
    EXPECT_TRUE(is_slug("kitchen-tablet_2"));
}

TEST(SlugTest, TakenSlugsGetTheNextFreeNumber) {
    const std::set<std::string> taken{"phone", "phone-2"};
    EXPECT_EQ(unique_slug("phone", [&](const std::string& slug) { return taken.contains(slug); }),
              "phone-3");
    EXPECT_EQ(unique_slug("tablet", [&](const std::string& slug) { return taken.contains(slug); }),
              "tablet");
}

}  // namespace
}  // namespace crab::trust
