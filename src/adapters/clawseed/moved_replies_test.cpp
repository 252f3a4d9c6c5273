#include "adapters/clawseed/moved_replies.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace crab::clawseed {
namespace {

using namespace std::chrono_literals;
using Kind = WordToOther::Kind;

struct MovedRepliesTest : testing::Test {
    bool ask(const std::string& id, bool asked_before = false) {
        return moved.ask(
            {.id = id, .asked_before = asked_before},
            [this](WordToOther word) { said.push_back(word.kind); }, now);
    }
    bool answer(const std::string& id) {
        return moved.answer(id, {.kind = Kind::kAnswer, .frame = "{}"}, now);
    }
    MovedReplies moved;
    SteadyTime now{1000s};
    std::vector<Kind> said;
};

TEST_F(MovedRepliesTest, ARequestIsSentOnceAndItsAnswerAcknowledgedOnceItsAskerHasIt) {
    EXPECT_TRUE(ask("a"));
    EXPECT_FALSE(ask("a"));
    EXPECT_FALSE(ask("a", true));
    EXPECT_FALSE(answer("a"));
    EXPECT_EQ(said, (std::vector{Kind::kLinked, Kind::kLinked, Kind::kLinked, Kind::kAnswer}));
    EXPECT_TRUE(moved.heard("a"));
    EXPECT_FALSE(moved.heard("a"));
    EXPECT_TRUE(answer("a"));  // the device has not got the acknowledgement
    EXPECT_EQ(said.size(), 4u);
}

TEST_F(MovedRepliesTest, AnAnswerThatComesBeforeItIsAskedForIsKeptByItsDevice) {
    EXPECT_FALSE(answer("a"));
    EXPECT_TRUE(ask("a"));  // the device says it again
    EXPECT_FALSE(answer("a"));
    EXPECT_EQ(said.back(), Kind::kAnswer);
}

TEST_F(MovedRepliesTest, WhatWasAcknowledgedForNobodyIsNeverSentToTheDevice) {
    EXPECT_FALSE(answer("a"));
    now += MovedReplies::kGiveUpAfter - 1s;
    EXPECT_FALSE(answer("a"));
    now += 1s;
    EXPECT_TRUE(answer("a"));
    EXPECT_FALSE(ask("a"));  // else it would run again
    EXPECT_EQ(said, std::vector{Kind::kGone});
}

TEST_F(MovedRepliesTest, WhatACallOfThisNodeHasRecordedIsAcknowledgedAtOnceWhenItComesAgain) {
    EXPECT_FALSE(answer("a"));
    EXPECT_FALSE(moved.may_be_forgotten("a"));
    moved.settled("a");
    EXPECT_TRUE(answer("a"));
    EXPECT_TRUE(moved.may_be_forgotten("a"));
    EXPECT_FALSE(ask("a")) << "nobody asks the device for what it need not know any more";
    EXPECT_EQ(said, std::vector{Kind::kGone});
}

TEST_F(MovedRepliesTest, ProgressOfWhatWasAskedIsToldTenTimesASecondAtMost) {
    moved.progress("a", "{}", now);
    EXPECT_TRUE(said.empty()) << "nobody has asked";
    ask("a");
    EXPECT_TRUE(moved.is_asked("a"));
    for (int i = 0; i < 10; ++i) {
        moved.progress("a", "{}", now);
        now += 20ms;
    }
    moved.progress("a", std::string(MovedReplies::kLongestProgress + 1, 'x'), now + 1s);
    EXPECT_EQ(said, (std::vector{Kind::kLinked, Kind::kProgress, Kind::kProgress}));
}

TEST_F(MovedRepliesTest, ALinkThatDoesNotKnowTheRequestSaysSo) {
    EXPECT_FALSE(ask("a", true));
    EXPECT_EQ(said, std::vector{Kind::kGone});
}

TEST_F(MovedRepliesTest, AFloodOfUnknownAnswersIsForgottenAndThenNothingIsTaken) {
    for (std::size_t i = 0; i < MovedReplies::kMostUnknown; ++i)
        EXPECT_FALSE(answer(std::to_string(i)));
    for (std::size_t i = 0; i <= MovedReplies::kMostGivenUp; ++i)
        EXPECT_TRUE(answer("more" + std::to_string(i)));
    EXPECT_FALSE(ask("new"));
    EXPECT_EQ(said, std::vector{Kind::kGone});
}

TEST_F(MovedRepliesTest, RequestsThatNobodyAsksForAnyMoreMakeRoom) {
    for (std::size_t i = 0; i < MovedReplies::kMostAsked; ++i) EXPECT_TRUE(ask(std::to_string(i)));
    EXPECT_FALSE(ask("one more"));
    EXPECT_EQ(said.back(), Kind::kGone);
    now += MovedReplies::kAskedFor + 1s;
    EXPECT_TRUE(ask("one more"));
}

}  // namespace
}  // namespace crab::clawseed
