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
    for (const std::string_view bad : {"", " \t", "a\nb", "a\tb", "a\x1b[2Jb", "a\x7f", "a\u0085b",
                                       "a\u2028b", "a\u202Eb", "a\u2066b", "a\xff", "\xc3"}) {
        EXPECT_EQ(read_display_name(bad).error().code, ErrorCode::kInvalidArgs) << bad;
    }
    EXPECT_FALSE(read_display_name(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace crab::json
