#include "trust/slug.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace crab::trust {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

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
        const std::string slug = make_slug(name, "device");
        EXPECT_LE(slug.size(), kMaxSlugSize);
        EXPECT_THAT(slug, MatchesRegex("[a-z0-9]([a-z0-9_-]*[a-z0-9])?"));
        EXPECT_THAT(slug, Not(HasSubstr("__"))) << "the separator of qualified names";
    }
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
