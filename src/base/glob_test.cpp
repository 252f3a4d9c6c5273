#include "base/glob.hpp"

#include <chrono>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace crab {
namespace {

bool naive(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) return text.empty();
    if (pattern[0] == '*') return naive(pattern.substr(1), text) || (!text.empty() && naive(pattern, text.substr(1)));
    return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) && naive(pattern.substr(1), text.substr(1));
}

TEST(Glob, AnUnsetOneIsEmptyAndMatchesOnlyEmptyText) {
    EXPECT_TRUE(Glob().empty());
    EXPECT_TRUE(Glob("").matches(""));
    EXPECT_FALSE(Glob("").matches("a"));
}

TEST(Glob, OnlyStarAndQuestionMarkAreSpecial) {
    EXPECT_TRUE(Glob("a.b[c]\\").matches("a.b[c]\\"));
    EXPECT_FALSE(Glob("a.b").matches("axb"));
    EXPECT_TRUE(Glob("device/*").matches("device/a/b"));
    EXPECT_FALSE(Glob("a?").matches("a"));
}

TEST(Glob, AgreesWithARecursiveModelOverRandomTexts) {
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
        std::mt19937 random(seed);
        const auto text = [&](std::string_view letters, std::size_t most) {
            std::string made(random() % (most + 1), ' ');
            for (char& c : made) c = letters[random() % letters.size()];
            return made;
        };
        for (int i = 0; i < 20'000; ++i) {
            const std::string pattern = text("ab*?", 7), subject = text("ab", 9);
            ASSERT_EQ(Glob(pattern).matches(subject), naive(pattern, subject)) << "seed " << seed << ": " << pattern << " on " << subject;
        }
    }
}

TEST(Glob, ManyStarsOnALongTextTakeNoTimeToSpeakOf) {
    std::string pattern;
    for (int i = 0; i < 60; ++i) pattern += "a*";
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(Glob(pattern + "b").matches(std::string(20'000, 'a')));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

}  // namespace
}  // namespace crab
