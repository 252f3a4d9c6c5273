#include "history.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::fleet::simulation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Builds a history, a millisecond between two things.
struct FleetHistoryTest : testing::Test {
    History history;
    std::map<std::string, KeyKind> kinds{{"once", {.idempotent = false}},
                                         {"again", {.idempotent = true}},
                                         {"free", {.idempotent = true, .recorded = false}}};

    FleetHistoryTest& then(What what, std::string key, std::uint64_t attempt = 1,
                           std::string value = {}, std::string request = {}) {
        const SteadyTime at(std::chrono::milliseconds(history.size() + 1));
        history.push_back(
            {at, what, std::move(key), attempt, std::move(value), std::move(request)});
        return *this;
    }
    /// A call that runs as it should, up to its end.
    FleetHistoryTest& runs(const std::string& key) {
        then(What::kInvoke, key).then(What::kCommit, key);
        return then(What::kStart, key, 1, "", "r1").then(What::kEnd, key, 1, "v1", "r1");
    }
    std::vector<std::string> broken() { return check_history(history, kinds); }
};

TEST_F(FleetHistoryTest, AGoodHistoryBreaksNothing) {
    runs("once").then(What::kOk, "once", 1, "v1");
    then(What::kInvoke, "once", 2).then(What::kOk, "once", 2, "v1");
    then(What::kInvoke, "once", 3).then(What::kUnknown, "once", 3, "TIMEOUT");
    then(What::kFault, "", 0, "kill 2");
    then(What::kInvoke, "again", 4).then(What::kFail, "again", 4, "UNAVAILABLE");
    EXPECT_THAT(broken(), IsEmpty()) << text_of(history);
}

TEST_F(FleetHistoryTest, ASecondStartOfWhatIsNotIdempotentIsFound) {
    runs("once").then(What::kStart, "once", 2, "", "r2").then(What::kOk, "once", 1, "v1");
    EXPECT_THAT(broken(), ElementsAre(HasSubstr("started twice")));
}

TEST_F(FleetHistoryTest, WhatIsIdempotentMayStartAgainUnderAnotherRequestOnly) {
    runs("again").then(What::kStart, "again", 1, "", "r2").then(What::kUnknown, "again");
    EXPECT_THAT(broken(), IsEmpty());
    then(What::kStart, "again", 1, "", "r2");
    EXPECT_THAT(broken(), ElementsAre(HasSubstr("one request started twice")));
}

TEST_F(FleetHistoryTest, AStartWithoutARecordIsFound) {
    then(What::kInvoke, "once").then(What::kStart, "once").then(What::kCommit, "once");
    then(What::kUnknown, "once");
    EXPECT_THAT(broken(), ElementsAre(HasSubstr("before a ledger knew")));
}

TEST_F(FleetHistoryTest, AnAdoptedCallIsGoodAndOneThatNobodyHasAdmittedIsFound) {
    then(What::kInvoke, "once").then(What::kCommit, "once").then(What::kStart, "once", 1, "", "r1");
    then(What::kFault, "", 0, "kill 2").then(What::kAdopt, "once");
    then(What::kEnd, "once", 1, "v1", "r1").then(What::kOk, "once", 1, "v1");
    EXPECT_THAT(broken(), IsEmpty());
    history.clear();
    then(What::kInvoke, "once").then(What::kAdopt, "once").then(What::kUnknown, "once");
    EXPECT_THAT(broken(), ElementsAre(HasSubstr("nobody had admitted")));
}

TEST_F(FleetHistoryTest, AnAdoptedCallThatItsDeviceRunsAgainIsFound) {
    runs("once").then(What::kAdopt, "once").then(What::kStart, "once", 2, "", "r1");
    then(What::kOk, "once", 1, "v1");
    EXPECT_THAT(broken(), ElementsAre(HasSubstr("started twice"), HasSubstr("request started")));
}

TEST_F(FleetHistoryTest, AResultThatNoRunHadIsFound) {
    runs("once").then(What::kOk, "once", 1, "v2");
    EXPECT_THAT(broken(), ElementsAre(HasSubstr("that no run had")));
}

TEST_F(FleetHistoryTest, AResultBeforeItsRunHasEndedIsFound) {
    then(What::kInvoke, "once").then(What::kCommit, "once").then(What::kStart, "once");
    then(What::kOk, "once", 1, "v1").then(What::kEnd, "once", 1, "v1");
    EXPECT_THAT(broken(), ElementsAre(HasSubstr("that no run had")));
}

TEST_F(FleetHistoryTest, TwoResultsOfOneKeyAreFound) {
    runs("again").then(What::kOk, "again", 1, "v1").then(What::kInvoke, "again", 2);
    then(What::kStart, "again", 2, "", "r2").then(What::kEnd, "again", 2, "v2", "r2");
    then(What::kOk, "again", 2, "v2");
    EXPECT_THAT(broken(), ElementsAre(HasSubstr("two results")));
}

TEST_F(FleetHistoryTest, AResultThatWasNotRecordedMayBeFollowedByThatOfAnotherAdmission) {
    const auto twice = [&](const std::string& key, bool unstored, bool again) {
        history.clear();
        runs(key);
        if (unstored) then(What::kUnstored, key, 0, "v1");
        then(What::kOk, key, 1, "v1").then(What::kInvoke, key, 2);
        if (again) then(What::kCommit, key);
        then(What::kStart, key, 2, "", "r2").then(What::kEnd, key, 2, "v2", "r2");
        then(What::kOk, key, 2, "v2");
        return broken();
    };
    EXPECT_THAT(twice("again", true, true), IsEmpty());
    EXPECT_THAT(twice("again", false, true), ElementsAre(HasSubstr("two results")));
    EXPECT_THAT(twice("again", true, false), ElementsAre(HasSubstr("two results")));
    EXPECT_THAT(twice("once", true, true),
                ElementsAre(HasSubstr("started twice"), HasSubstr("two results")));
}

TEST_F(FleetHistoryTest, OfWhatNobodyRecordsEachHasItsOwnResult) {
    then(What::kInvoke, "free").then(What::kStart, "free", 1, "", "r1");
    then(What::kEnd, "free", 1, "v1").then(What::kOk, "free", 1, "v1");
    EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(FleetHistoryTest, ARunOfWhatWasSaidNotToRunIsFoundBeforeAndAfter) {
    runs("once").then(What::kFail, "once", 1, "UNAVAILABLE");
    EXPECT_THAT(broken(), ElementsAre(HasSubstr("nothing was run, and it was")));
    history.clear();
    then(What::kInvoke, "once").then(What::kFail, "once", 1, "UNAVAILABLE");
    then(What::kCommit, "once").then(What::kStart, "once", 1, "", "r1");
    EXPECT_THAT(broken(), ElementsAre(HasSubstr("nothing was run, and it was")));
}

TEST_F(FleetHistoryTest, ACallerWithoutAnAnswerOrWithTwoIsFound) {
    then(What::kInvoke, "again", 1);
    EXPECT_THAT(broken(), ElementsAre(HasSubstr("never answered")));
    then(What::kUnknown, "again", 1).then(What::kFail, "again", 1);
    EXPECT_THAT(broken(), ElementsAre(HasSubstr("nobody had asked for")));
}

TEST_F(FleetHistoryTest, AKeyThatNobodyAskedForIsFound) {
    then(What::kStart, "other");
    EXPECT_THAT(broken(), ElementsAre(HasSubstr("nobody asked for key other")));
}

}  // namespace
}  // namespace crab::fleet::simulation
