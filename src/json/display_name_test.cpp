#include "json/display_name.hpp"

#include <gtest/gtest.h>

namespace crab::json {
namespace {

std::string repeated(std::string_view text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
}

TEST(DisplayName, IsInAnyScriptAndTrimmed) {
    EXPECT_EQ(read_display_name("分身").value(), "分身");
    EXPECT_EQ(read_display_name("  Küche unten\t\n").value(), "Küche unten");
    EXPECT_EQ(read_display_name("\u3000台所\u00A0").value(), "台所");
    EXPECT_EQ(read_display_name("👩‍🍳 مطبخ").value(), "👩‍🍳 مطبخ");
}

TEST(DisplayName, HasUpTo128CharactersHoweverManyBytesTheyHave) {
    for (const std::string_view one : {"a", "ü", "分", "𝄞"}) {
        EXPECT_EQ(read_display_name(repeated(one, 128)).value(), repeated(one, 128));
        EXPECT_EQ(read_display_name(" " + repeated(one, 128) + " ").value(), repeated(one, 128))
            << "what is trimmed does not count";
        EXPECT_EQ(read_display_name(repeated(one, 129)).error().code, ErrorCode::kInvalidArgs);
    }
}

TEST(DisplayName, HoldsNoControlCharacters) {
    for (const std::string_view bad :
         {"", " \t", "a\nb", "a\tb", "a\x1b[2Jb", "a\x7f", "a\u0085b", "a\xff", "\xc3"}) {
        EXPECT_EQ(read_display_name(bad).error().code, ErrorCode::kInvalidArgs) << bad;
    }
    EXPECT_FALSE(read_display_name(std::string_view("a\0b", 3)));
}

TEST(DisplayName, HoldsNothingThatIsNotSeenOrTurnsOtherText) {
    for (const std::string_view bad :
         {"a\u2028b",    "a\u2029b",   "a\u202Ab",         "a\u202Eb", "a\u2066b",
          "a\u2069b",    "a\u200Eb",   "\u200Fa",          "a\u061C",  "a\u200Bb",
          "a\u2060b",    "a\u00ADb",   "a\u034Fb",         "a\uFEFFb", "a\u3164b",
          "\uFFA0b",     "a\u115Fb",   "a\u180Eb",         "a\uFFFAb", "a\U000E0001\U000E0061",
          "a\U0001D173", "pa\u200Dul", "pa\u200Cul",       "\u200Da",  "分\u200D身",
          "я\u200Dя",    "مطبخ\u200D", "👩\u200D\u200D🍳", "a\uFE0Fb", "a\U000E0100"}) {
        const auto read = read_display_name(bad);
        ASSERT_FALSE(read) << bad;
        EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgs) << bad;
        EXPECT_TRUE(read.error().message.contains("U+")) << read.error().message;
    }
    EXPECT_TRUE(read_display_name("a\u202Eb").error().message.contains("U+202E"));
    for (const std::string_view good :
         {"می\u200Cخواهم", "ക്\u200Dഷ", "👩\u200D👩\u200D👧", "☎\uFE0F", "1\uFE0F\u20E3",
          "葛\U000E0100城", "Ελλάδα", "עברית", "ไทย", "한국어", "a\u0301b", "ʻOkina"})
        EXPECT_EQ(read_display_name(good).value_or("refused"), good);
}

}  // namespace
}  // namespace crab::json
