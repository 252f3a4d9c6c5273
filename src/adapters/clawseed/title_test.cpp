#include "adapters/clawseed/title.hpp"

#include <gtest/gtest.h>

namespace crab::clawseed {
namespace {

TEST(Title, IsTheFirstLineThatSaysSomething) {
    EXPECT_EQ(title_from("  \n\t How warm is it? \r\nThanks"), "How warm is it?");
    EXPECT_EQ(title_from(""), "");
    EXPECT_EQ(title_from(" \n "), "");
}

TEST(Title, IsCutBetweenWordsOrElseBetweenCharacters) {
    EXPECT_EQ(title_from("one two three four five six seven eight nine ten eleven twelve thirteen"),
              "one two three four five six seven eight nine ten eleven…");
    std::string umlauts = "x";
    for (int i = 0; i < 100; ++i) umlauts += "ä";
    const std::string cut = title_from(umlauts);
    EXPECT_LE(cut.size(), 60u);
    EXPECT_TRUE(cut.starts_with("xä") && cut.ends_with("ä…")) << cut;
}

}  // namespace
}  // namespace crab::clawseed
