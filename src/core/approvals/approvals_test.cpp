#include "core/approvals/approvals.hpp"

#include "base/task/test_loop.hpp"
#include "core/approvals/test_approval_store.hpp"

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

/// Writes down what it is told.
struct HeardQuestions final : Approvals::Observer {
    void on_question(const ApprovalQuestion& question) override {
        lines.push_back("? " + question.id);
    }
    void on_end(const ApprovalQuestion& question, const ApprovalEnd& end) override {
        lines.push_back(std::string(name_of(end.state)) + " " + question.id);
    }
    std::vector<std::string> lines;
};

/// A person at the caller's end.
struct Person final : Approver {
    bool can_be_asked() const override { return present; }
    void on_question(const ApprovalQuestion& question) override {
        lines.push_back("? " + question.id);
    }
    void on_end(const ApprovalQuestion&, const ApprovalEnd& end) override {
        lines.emplace_back(name_of(end.state));
    }
    bool present = true;
    std::vector<std::string> lines;
};

struct ApprovalsTest : testing::Test {
    TestLoop loop;
    ApprovalStoreMemory store;
    HeardQuestions heard;
    Approvals::Options options;
    std::unique_ptr<Approvals> approvals;
    std::optional<Approvals::Watch> watch;
    int asked = 0;

    ApprovalsTest() { open(); }
    ~ApprovalsTest() override {
        approvals->stop();
        loop.settle();
    }
    void open() {
        watch.reset();
        approvals = Approvals::load(store, loop.clock, options, &heard).value();
        watch.emplace(*approvals);
    }
    ApprovalQuestion question(std::string session = "s1", std::uint64_t content = 1) {
        ApprovalQuestion made;
        made.id = "q" + std::to_string(++asked);
        made.subject = {.tenant = "home",
                        .principal = "caller/ann",
                        .tool = "phone__sms",
                        .source = "device/phone",
                        .place = {},
                        .rule = "policy[0]",
                        .session = std::move(session),
                        .network = Network::kDenyAll,
                        .privilege = Privilege::kDefault,
                        .content = crypto::sha256(std::to_string(content))};
        made.call_id = "c" + std::to_string(asked);
        made.credential = "t1";
        return made;
    }
    auto ask(ApprovalQuestion asks, Approver* caller = nullptr, Deadline deadline = kNoDeadline) {
        return loop.start(approvals->ask(std::move(asks), deadline, loop.timers, caller));
    }
    ApprovalState state_of(ApprovalQuestion asks) {
        const auto answer = ask(std::move(asks));
        return answer->ended() ? answer->get().state : ApprovalState::kPending;
    }
    auto decide(std::string_view id, bool allow, ApprovalScope scope = ApprovalScope::kOnce) {
        auto request = approvals->decide(id, {.allow = allow, .scope = scope, .by = "local/1"});
        loop.settle();
        return request;
    }
};

TEST_F(ApprovalsTest, ADecisionThatRacesTheCallersOwnAnswerLeavesNothingBehind) {
    for (int round = 0; round < 500; ++round) {
        const ApprovalQuestion asked = question();
        const auto answer = ask(asked);
        std::atomic<int> ready = 0;
        const auto meet = [&] {
            ++ready;
            while (ready < 2) std::this_thread::yield();
        };
        bool taken = false;
        std::jthread person([&] {
            meet();
            taken = approvals->answer(asked.id, true, "device/phone");
        });
        meet();
        const auto decided = approvals->decide(
            asked.id, {.allow = true, .scope = ApprovalScope::kOnce, .by = "local/1"});
        person.join();
        loop.settle();
        ASSERT_EQ(decided.has_value(), !taken);
        ASSERT_TRUE(answer->ended());
        ASSERT_TRUE(answer->get().allowed());
        ASSERT_TRUE(approvals->remembered().empty()) << "one word lets one call run";
    }
}

TEST_F(ApprovalsTest, ADecisionForAlwaysDoesNotEndAgainWhatWasAnsweredWhileItWasStored) {
    struct Slow final : ApprovalStore {
        Result<std::vector<RememberedApproval>> load() override {
            return std::vector<RememberedApproval>{};
        }
        Result<void> keep(const RememberedApproval&, const std::vector<std::string>&) override {
            meanwhile();
            return {};
        }
        Result<void> forget(std::string_view) override { return {}; }
        std::function<void()> meanwhile;
    } slow;
    const auto own = Approvals::load(slow, loop.clock, options, nullptr).value();
    const Approvals::Watch watching(*own);
    const ApprovalQuestion asked = question();
    const auto answer = loop.start(own->ask(asked, kNoDeadline, loop.timers, nullptr));
    slow.meanwhile = [&] { EXPECT_TRUE(own->answer(asked.id, true, "device/phone")); };
    const auto decided =
        own->decide(asked.id, {.allow = false, .scope = ApprovalScope::kAlways, .by = "local/1"});
    loop.settle();
    EXPECT_EQ(answer->get().by, "device/phone");
    ASSERT_TRUE(decided);
    EXPECT_EQ(decided->end.state, ApprovalState::kAllowed)
        << "what has been let run is not called denied";
    EXPECT_EQ(own->ended(ApprovalState::kDenied), 0u);
    ASSERT_EQ(own->remembered().size(), 1u);
    EXPECT_FALSE(own->remembered()[0].allow) << "those to come are denied";
}

TEST_F(ApprovalsTest, AQuestionWaitsUntilItIsAllowed) {
    const auto answer = ask(question());
    EXPECT_FALSE(answer->ended());
    EXPECT_EQ(approvals->pending(), 1u);
    loop.advance(5s);
    ASSERT_TRUE(decide("q1", true));
    ASSERT_TRUE(answer->ended());
    EXPECT_TRUE(answer->get().allowed());
    EXPECT_EQ(answer->get().by, "local/1");
    EXPECT_EQ(answer->get().waited, 5s);
    EXPECT_EQ(approvals->pending(), 0u);
    EXPECT_EQ(heard.lines, (std::vector<std::string>{"? q1", "allowed q1"}));
    EXPECT_EQ(decide("q1", false).error().code, ErrorCode::kConflict);
}

TEST_F(ApprovalsTest, ADeniedQuestionStaysDeniedForTheSameCall) {
    const ApprovalQuestion first = question();
    const auto answer = ask(first);
    ASSERT_TRUE(decide("q1", false));
    EXPECT_EQ(answer->get().state, ApprovalState::kDenied);
    ApprovalQuestion repeat = question();
    repeat.call_id = first.call_id;
    EXPECT_EQ(state_of(repeat), ApprovalState::kDenied);
    EXPECT_EQ(state_of(question()), ApprovalState::kPending) << "another call is another question";
}

TEST_F(ApprovalsTest, NobodyWaitsWhereNobodyCanBeAsked) {
    watch.reset();
    const auto answer = ask(question());
    ASSERT_TRUE(answer->ended());
    EXPECT_EQ(answer->get().state, ApprovalState::kUnattended);
    EXPECT_EQ(answer->get().id, "q1");
    EXPECT_TRUE(heard.lines.empty()) << "nobody was asked";
}

TEST_F(ApprovalsTest, WithoutAnybodyToAskItWaitsOnlyIfTheOperatorSaidSo) {
    options.unattended = Approvals::Unattended::kWait;
    open();
    watch.reset();
    EXPECT_EQ(state_of(question()), ApprovalState::kPending);
}

TEST_F(ApprovalsTest, WhatNobodyWasThereForCanBeAllowedForOneRepeatWithinTenMinutes) {
    watch.reset();
    EXPECT_EQ(state_of(question()), ApprovalState::kUnattended);
    ASSERT_TRUE(decide("q1", true));
    EXPECT_EQ(state_of(question("s1", 2)), ApprovalState::kUnattended) << "other arguments";
    EXPECT_EQ(state_of(question("s2")), ApprovalState::kUnattended) << "another session";
    ApprovalQuestion tighter = question();
    tighter.subject.privilege = Privilege::kMinimal;
    EXPECT_EQ(state_of(tighter), ApprovalState::kUnattended) << "other labels, tighter ones too";
    EXPECT_EQ(state_of(question()), ApprovalState::kAllowed);
    EXPECT_EQ(state_of(question()), ApprovalState::kUnattended) << "once";
    ASSERT_TRUE(decide("q6", true));
    loop.advance(10min);
    EXPECT_EQ(state_of(question()), ApprovalState::kUnattended);
    EXPECT_EQ(decide("q6", true).error().code, ErrorCode::kNotFound);
}

TEST_F(ApprovalsTest, ThereIsNothingToDenyOnceAfterTheEnd) {
    watch.reset();
    EXPECT_EQ(state_of(question()), ApprovalState::kUnattended);
    EXPECT_EQ(decide("q1", false).error().code, ErrorCode::kConflict);
    ASSERT_TRUE(decide("q1", false, ApprovalScope::kAlways));
    EXPECT_EQ(state_of(question()), ApprovalState::kDenied);
}

TEST_F(ApprovalsTest, AQuestionExpiresAfterItsTimeOrWithItsCall) {
    const auto patient = ask(question()), hasty = ask(question(), nullptr, loop.in(2s));
    loop.advance(2s);
    EXPECT_EQ(hasty->get().state, ApprovalState::kExpired);
    EXPECT_FALSE(patient->ended());
    loop.advance(58s);
    EXPECT_EQ(patient->get().state, ApprovalState::kExpired);
    EXPECT_EQ(patient->get().waited, 60s);
}

TEST_F(ApprovalsTest, ACallerWhoCancelsTakesTheQuestionBack) {
    const auto answer = ask(question());
    loop.cancel(*answer);
    EXPECT_EQ(answer->get().state, ApprovalState::kCancelled);
    EXPECT_EQ(approvals->pending(), 0u);
    EXPECT_EQ(heard.lines.back(), "cancelled q1");
}

TEST_F(ApprovalsTest, AGatewayThatStopsLetsNobodyWait) {
    const auto answer = ask(question());
    approvals->stop();
    loop.settle();
    EXPECT_EQ(answer->get().state, ApprovalState::kStopped);
    EXPECT_EQ(state_of(question()), ApprovalState::kStopped);
}

TEST_F(ApprovalsTest, ARevokedCredentialWaitsForNothing) {
    ApprovalQuestion other = question();
    other.credential = "t2";
    const auto mine = ask(question()), others = ask(other);
    approvals->withdraw("t1");
    loop.settle();
    EXPECT_EQ(mine->get().state, ApprovalState::kWithdrawn);
    EXPECT_FALSE(others->ended());
}

TEST_F(ApprovalsTest, OnlySoManyCallsWait) {
    options.max_parked = 3;
    options.max_parked_per_principal = 2;
    open();
    EXPECT_EQ(state_of(question()), ApprovalState::kPending);
    EXPECT_EQ(state_of(question()), ApprovalState::kPending);
    EXPECT_EQ(state_of(question()), ApprovalState::kTooMany) << "of one principal";
    ApprovalQuestion bob = question();
    bob.subject.principal = "caller/bob";
    EXPECT_EQ(state_of(bob), ApprovalState::kPending);
    ApprovalQuestion eve = question();
    eve.subject.principal = "caller/eve";
    EXPECT_EQ(state_of(eve), ApprovalState::kTooMany) << "in all";
}

TEST_F(ApprovalsTest, AllowedForTheSessionHoldsForItsOtherCallsAndNoOtherSession) {
    const auto answer = ask(question()), beside = ask(question("s1", 7));
    ASSERT_TRUE(decide("q1", true, ApprovalScope::kSession));
    EXPECT_TRUE(answer->get().allowed());
    EXPECT_TRUE(beside->get().allowed()) << "what waits and is covered is answered with it";
    EXPECT_EQ(state_of(question("s1", 9)), ApprovalState::kAllowed);
    EXPECT_EQ(state_of(question("s2")), ApprovalState::kPending);
    approvals->end_session("caller/bob", "s1");
    EXPECT_EQ(state_of(question("s1", 11)), ApprovalState::kAllowed)
        << "another's session of that name";
    approvals->end_session("caller/ann", "s1");
    EXPECT_EQ(state_of(question()), ApprovalState::kPending);
    EXPECT_TRUE(store.kept.empty());
}

TEST_F(ApprovalsTest, ThereIsNoSessionToRememberForACallWithoutOne) {
    const auto answer = ask(question(""));
    EXPECT_EQ(decide("q1", true, ApprovalScope::kSession).error().code, ErrorCode::kInvalidArgs);
    EXPECT_FALSE(answer->ended()) << "the question is still open";
}

TEST_F(ApprovalsTest, AllowedForAlwaysSurvivesTheGateway) {
    ask(question());
    ASSERT_TRUE(decide("q1", true, ApprovalScope::kAlways));
    open();
    watch.reset();
    EXPECT_EQ(state_of(question("s9", 9)), ApprovalState::kAllowed);
    ASSERT_EQ(approvals->remembered().size(), 1u);
    ASSERT_TRUE(approvals->forget("q1"));
    EXPECT_EQ(state_of(question()), ApprovalState::kUnattended);
    EXPECT_EQ(approvals->forget("q1").error().code, ErrorCode::kNotFound);
    EXPECT_TRUE(store.kept.empty());
}

TEST_F(ApprovalsTest, WhatCannotBeStoredIsNotDecided) {
    const auto answer = ask(question());
    store.failing = true;
    EXPECT_EQ(decide("q1", true, ApprovalScope::kAlways).error().code, ErrorCode::kUnavailable);
    EXPECT_FALSE(answer->ended());
    EXPECT_TRUE(approvals->remembered().empty());
    store.failing = false;
    ASSERT_TRUE(decide("q1", true, ApprovalScope::kAlways));
    store.failing = true;
    EXPECT_EQ(approvals->forget("q1").error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(approvals->remembered().size(), 1u);
}

TEST_F(ApprovalsTest, AnApprovalCoversNothingLooserThanWhatWasShown) {
    ask(question());
    ASSERT_TRUE(decide("q1", true, ApprovalScope::kAlways));
    ApprovalQuestion tighter = question();
    tighter.subject.privilege = Privilege::kMinimal;
    EXPECT_EQ(state_of(tighter), ApprovalState::kAllowed);
    for (const auto loosen : std::initializer_list<void (*)(ApprovalSubject&)>{
             [](ApprovalSubject& subject) { subject.privilege = Privilege::kElevated; },
             [](ApprovalSubject& subject) { subject.network = Network::kFullAccess; },
             [](ApprovalSubject& subject) { subject.place = "garden/main"; },
             [](ApprovalSubject& subject) { subject.rule = "policy[1]"; },
             [](ApprovalSubject& subject) { subject.tool = "phone__call"; },
             [](ApprovalSubject& subject) { subject.source = "device/other"; },
             [](ApprovalSubject& subject) { subject.tenant = "work"; }}) {
        ApprovalQuestion other = question();
        loosen(other.subject);
        EXPECT_EQ(state_of(other), ApprovalState::kPending);
    }
}

TEST_F(ApprovalsTest, ADenialHoldsForWhatGoesAsFarAndWins) {
    ask(question());
    ASSERT_TRUE(decide("q1", true, ApprovalScope::kAlways));
    ApprovalQuestion elevated = question();
    elevated.subject.privilege = Privilege::kElevated;
    ask(elevated);
    ASSERT_TRUE(decide(elevated.id, false, ApprovalScope::kAlways));
    ApprovalQuestion privileged = question();
    privileged.subject.privilege = Privilege::kPrivileged;
    EXPECT_EQ(state_of(privileged), ApprovalState::kDenied);
    EXPECT_EQ(state_of(question()), ApprovalState::kAllowed) << "the tighter one is still allowed";
    EXPECT_EQ(store.kept.size(), 2u);
}

TEST_F(ApprovalsTest, ALaterDecisionAboutTheSameReplacesTheEarlier) {
    watch.reset();
    EXPECT_EQ(state_of(question()), ApprovalState::kUnattended);
    EXPECT_EQ(state_of(question()), ApprovalState::kUnattended);
    ASSERT_TRUE(decide("q1", true, ApprovalScope::kAlways));
    ASSERT_TRUE(decide("q2", false, ApprovalScope::kAlways));
    EXPECT_EQ(state_of(question()), ApprovalState::kDenied);
    EXPECT_EQ(store.kept.size(), 1u);
}

TEST_F(ApprovalsTest, ThePersonAtTheCallersEndIsAskedAndToldTheEnd) {
    watch.reset();
    Person person;
    const auto answer = ask(question(), &person);
    EXPECT_FALSE(answer->ended());
    ASSERT_TRUE(decide("q1", true));
    EXPECT_EQ(person.lines, (std::vector<std::string>{"? q1", "allowed"}));
    person.present = false;
    const auto alone = ask(question("s1", 2), &person);
    EXPECT_EQ(alone->get().state, ApprovalState::kUnattended);
}

TEST_F(ApprovalsTest, TheWordOfSomebodyWhoWasAskedCountsWhileTheQuestionIsOpen) {
    const auto allowed = ask(question());
    EXPECT_TRUE(approvals->answer("q1", true, "service/hitl"));
    loop.settle();
    EXPECT_TRUE(allowed->get().allowed());
    EXPECT_EQ(allowed->get().by, "service/hitl");
    const auto denied = ask(question("s1", 2));
    ASSERT_TRUE(decide("q2", false));
    EXPECT_FALSE(approvals->answer("q2", true, "service/hitl")) << "another was first";
    EXPECT_EQ(denied->get().state, ApprovalState::kDenied);
    EXPECT_EQ(state_of(question("s1", 2)), ApprovalState::kPending)
        << "nothing is remembered of a word that came too late";
    EXPECT_FALSE(approvals->answer("q99", true, "service/hitl"));
}

TEST_F(ApprovalsTest, SomebodyWhoCannotAnswerLeavesItToTheOthersOrToNobody) {
    const auto alone = ask(question());
    approvals->pass("q1");
    loop.settle();
    EXPECT_EQ(alone->get().state, ApprovalState::kUnattended);
    ASSERT_TRUE(decide("q1", true)) << "its repeat can still be allowed";
    EXPECT_EQ(state_of(question()), ApprovalState::kAllowed);
    Person person;
    const auto with_person = ask(question("s1", 2), &person);
    approvals->pass("q3");
    loop.settle();
    EXPECT_FALSE(with_person->ended());
    ASSERT_TRUE(decide("q3", true));
    const Approvals::Watch operators(*approvals);
    const auto with_operator = ask(question("s1", 3));
    approvals->pass("q4");
    loop.settle();
    EXPECT_FALSE(with_operator->ended());
}

TEST_F(ApprovalsTest, WhatIsOverIsForgottenBeforeItFillsTheMemory) {
    watch.reset();
    for (int i = 0; i < 1000; ++i) (void)state_of(question("s1", static_cast<std::uint64_t>(i)));
    EXPECT_LE(approvals->list().size(), 258u);
    EXPECT_EQ(approvals->list().back().question->id, "q1000");
    EXPECT_FALSE(approvals->find("q1"));
    EXPECT_EQ(approvals->ended(ApprovalState::kUnattended), 1000u);
}

TEST_F(ApprovalsTest, WhatAnotherGatewayHasDecidedForGoodDecidesWhatWaitsHere) {
    const auto waiting = ask(question());
    const auto elsewhere = Approvals::load(store, loop.clock, options, nullptr).value();
    const Approvals::Watch watching(*elsewhere);
    const ApprovalQuestion there = question();
    const auto answer = loop.start(elsewhere->ask(there, kNoDeadline, loop.timers, nullptr));
    ASSERT_TRUE(elsewhere->decide(
        there.id, {.allow = true, .scope = ApprovalScope::kAlways, .by = "local/2"}));
    loop.settle();
    EXPECT_TRUE(answer->get().allowed());
    EXPECT_FALSE(waiting->ended());
    ASSERT_TRUE(approvals->refresh());
    loop.settle();
    ASSERT_TRUE(waiting->ended());
    EXPECT_TRUE(waiting->get().allowed());
    EXPECT_EQ(waiting->get().by, "local/2");
    EXPECT_EQ(waiting->get().scope, ApprovalScope::kAlways);
    EXPECT_EQ(state_of(question()), ApprovalState::kAllowed) << "and those to come";
    ASSERT_TRUE(elsewhere->forget(there.id));
    ASSERT_TRUE(approvals->refresh());
    EXPECT_EQ(state_of(question()), ApprovalState::kPending);
    elsewhere->stop();
}

TEST_F(ApprovalsTest, WhatIsDecidedForASessionHereOutlivesALookAtTheStore) {
    (void)ask(question());
    ASSERT_TRUE(decide("q1", true, ApprovalScope::kSession));
    ASSERT_TRUE(approvals->refresh());
    EXPECT_EQ(state_of(question()), ApprovalState::kAllowed);
}

}  // namespace
}  // namespace crab::core
