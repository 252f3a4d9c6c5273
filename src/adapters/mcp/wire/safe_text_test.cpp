#include "adapters/mcp/wire/safe_text.hpp"

#include "adapters/mcp/wire/confusable_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace crab::mcp {
namespace {

using namespace std::string_literals;

TEST(McpSafeText, WhatIsSeenStays) {
    for (const std::string& text :
         {""s, "Reads a file.\n\tThen says so."s,
          "caf\u00e9 \u5929\u6c17 \u05e9\u05dc\u05d5\u05dd"s, "\U0001F980 \u2192 \u00a0x"s,
          "\u0600 Arabic number sign"s, "a\u0301"s}) {
        const CleanText clean = clean_text(text);
        EXPECT_EQ(clean.text, text);
        EXPECT_EQ(clean.removed, 0U);
    }
}

TEST(McpSafeText, BidiZeroWidthTagAndControlCharactersVanishAndAreCounted) {
    const auto removed = [](std::string_view text) {
        const CleanText clean = clean_text("a" + std::string(text) + "b");
        EXPECT_EQ(clean.text, "ab") << testing::PrintToString(text);
        return clean.removed;
    };
    for (const std::string& one :
         {"\u202e"s,     "\u2066"s, "\u2069"s,     "\u200f"s,     "\u061c"s,     "\u200b"s,
          "\u200c"s,     "\u200d"s, "\u2060"s,     "\ufeff"s,     "\u00ad"s,     "\u180e"s,
          "\u034f"s,     "\u3164"s, "\U000e0001"s, "\U000e0041"s, "\U000e007f"s, "\ufe0f"s,
          "\U000e0100"s, "\ufff9"s, "\u0378"s,     "\U0010ffff"s, "\r"s,         "\x1b"s,
          "\x7f"s,       "\0"s,     "\u0085"s,     "\xff"s})
        EXPECT_EQ(removed(one), 1U) << testing::PrintToString(one);
    EXPECT_EQ(removed("\u202e\u202d\U000e0068\U000e0069"), 4U);
}

TEST(McpSafeText, ConfusableNamesHaveOneSkeleton) {
    const std::string plain = skeleton("read_email");
    for (const std::string& other : {"r\u0435ad_email"s,         // Cyrillic e
                                     "read_ernail"s,             // rn for m
                                     "read_emai1"s,              // 1 for l
                                     "read_emaiI"s,              // I for l
                                     "read_ema\u0456l"s,         // Ukrainian i
                                     "re\u0430d_email"s,         // Cyrillic a
                                     "\uff52ead_email"s,         // full width
                                     "\U0001d42bead_email"s,     // mathematical bold
                                     "read\u200b_email"s,        // zero width
                                     "read_ema\u0131l"s})        // dotless i
        EXPECT_EQ(skeleton(other), plain) << other;
    for (const std::string_view other :
         {"read_mail", "read-email", "Read_email", "read_\u00e9mail", "read_email2"})
        EXPECT_NE(skeleton(other), plain) << other;
    EXPECT_EQ(skeleton("O0"), skeleton("00"));
}

TEST(McpSafeText, TheTableIsInOrder) {
    EXPECT_TRUE(std::ranges::is_sorted(kConfusables, {}, &Confusable::character));
    for (const Confusable& row : kConfusables) EXPECT_FALSE(row.looks_like.empty());
}

}  // namespace
}  // namespace crab::mcp
