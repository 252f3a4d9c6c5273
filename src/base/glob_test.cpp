#include "base/glob.hpp"

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace crab {
namespace {

bool naive(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) return text.empty();
    if (pattern[0] == '*')
        return naive(pattern.substr(1), text) || (!text.empty() && naive(pattern, text.substr(1)));
    return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) &&
           naive(pattern.substr(1), text.substr(1));
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
            ASSERT_EQ(Glob(pattern).matches(subject), naive(pattern, subject))
                << "seed " << seed << ": " << pattern << " on " << subject;
        }
    }
}

/// All texts over two letters with at most `most` of them.
std::vector<std::string> texts(std::size_t most) {
    std::vector<std::string> all{""};
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].size() == most) break;
        for (const char c : {'a', 'b'}) all.push_back(all[i] + c);
    }
    return all;
}

TEST(Glob, CoveringAndOverlappingAreAboutTheTextsThatMatch) {
    const auto all = texts(7);
    std::mt19937 random(7);
    const auto pattern = [&] {
        std::string made(random() % 4, ' ');
        for (char& c : made) c = "ab*?"[random() % 4];
        return Glob(made);
    };
    for (int i = 0; i < 4'000; ++i) {
        const Glob one = pattern(), other = pattern();
        bool overlap = false, includes = true;
        for (const std::string& text : all) {
            overlap = overlap || (one.matches(text) && other.matches(text));
            includes = includes && (one.matches(text) || !other.matches(text));
        }
        ASSERT_EQ(one.overlaps(other), overlap) << one.pattern() << " and " << other.pattern();
        if (one.covers(other))
            ASSERT_TRUE(includes) << one.pattern() << " over " << other.pattern();
        if (other.is_literal())
            ASSERT_EQ(one.covers(other), one.matches(other.pattern()))
                << one.pattern() << " over " << other.pattern();
    }
    EXPECT_TRUE(Glob("events.*").covers(Glob("events.publish:cron.*")));
    EXPECT_FALSE(Glob("events.?").covers(Glob("events.*")));
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
