#include "adapters/clawseed/pending_replies.hpp"

#include "base/task/spawn.hpp"
#include "base/test_clock.hpp"
#include "net/http/test_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace crab::clawseed {
namespace {

using namespace std::chrono_literals;

core::Outcome text(std::string content) {
    return core::ToolResult{.kind = core::ContentKind::kText,
                            .content = std::move(content),
                            .content_type = {},
                            .logs = {},
                            .usage = {}};
}

class ProgressSink final : public core::FrameSink {
public:
    bool wants_progress() const override { return wanted; }
    void on_progress(const core::Progress& progress) override {
        messages.push_back(progress.message);
    }
    bool wanted = true;
    std::vector<std::string> messages;
};

/// One table, and calls that wait in it; everything happens on this thread.
class PendingRepliesTest : public testing::Test {
protected:
    void on_loop(std::function<void()> function) {
        bool done = false;
        loop.post([&] {
            function();
            done = true;
        });
        while (!done) loop.run_some(1s);
    }
    SteadyTime now() const { return clock.steady_now(); }
    core::Progress note(std::string message) {
        return {.message = std::move(message), .progress = {}, .total = {}};
    }

    static constexpr ConnectionId kOld{1};
    static constexpr ConnectionId kNew{2};

    FakeClock clock;
    net::EventLoop loop{clock};
    ProgressSink sink;
    std::shared_ptr<PendingReplies> replies = std::make_shared<PendingReplies>();
};

TEST_F(PendingRepliesTest, AReplyIsNewsForItsCallOnce) {
    PendingReply call(loop, sink);
    const std::uint64_t tag = replies->add(call);
    on_loop([&] { EXPECT_TRUE(replies->resolve(tag, text("21.5"))); });
    ASSERT_TRUE(replies->take_update(call).answered);
    EXPECT_EQ((*call.answer)->content, "21.5");
    EXPECT_EQ(replies->size(), 0u) << "who has the answer is not waited for";
    replies->remove(tag);
    EXPECT_EQ(replies->size(), 0u);
}

TEST_F(PendingRepliesTest, Item23_LateRepeatedAndUnknownRepliesAreRefused) {
    PendingReply call(loop, sink);
    const std::uint64_t tag = replies->add(call);
    on_loop([&] {
        EXPECT_TRUE(replies->resolve(tag, text("first")));
        EXPECT_FALSE(replies->resolve(tag, text("second"))) << "repeated";
        EXPECT_FALSE(replies->resolve(tag + 1, text("x"))) << "unknown slot";
        EXPECT_FALSE(replies->resolve(tag ^ (std::uint64_t{1} << 40), text("x")))
            << "another generation of the slot";
    });
    EXPECT_TRUE(replies->take_update(call).answered);
    EXPECT_EQ((*call.answer)->content, "first");
    replies->remove(tag);
    replies->remove(tag);
    on_loop([&] { EXPECT_FALSE(replies->resolve(tag, text("late"))); });
}

TEST_F(PendingRepliesTest, Item23_ALateReplyDoesNotReachTheNextCallInTheSameSlot) {
    PendingReply first(loop, sink);
    const std::uint64_t old_tag = replies->add(first);
    replies->remove(old_tag);
    PendingReply second(loop, sink);
    const std::uint64_t tag = replies->add(second);
    on_loop([&] {
        EXPECT_FALSE(replies->resolve(old_tag, text("late")));
        replies->accept(old_tag);
    });
    EXPECT_FALSE(replies->take_update(second).answered);
    EXPECT_FALSE(replies->take_update(second).accepted);
    replies->remove(tag);
}

TEST_F(PendingRepliesTest, Item17_TagsNeverRepeat) {
    std::set<std::uint64_t> seen;
    std::vector<std::unique_ptr<PendingReply>> calls;
    for (int round = 0; round < 100; ++round) {
        std::vector<std::uint64_t> tags;
        for (int i = 0; i < 50; ++i) {
            calls.push_back(std::make_unique<PendingReply>(loop, sink));
            tags.push_back(replies->add(*calls.back()));
            EXPECT_TRUE(seen.insert(tags.back()).second);
            EXPECT_EQ(uuid_tag(loop.ids().uuid_v7(tags.back()).view()), tags.back())
                << "a tag fits into an id";
        }
        for (const std::uint64_t tag : tags) replies->remove(tag);
    }
    EXPECT_EQ(replies->size(), 0u);
}

TEST_F(PendingRepliesTest, Item34_ARequestBehindTheLastByteWrittenWasNeverDelivered) {
    PendingReply delivered(loop, sink), on_the_edge(loop, sink), queued(loop, sink),
        elsewhere(loop, sink);
    const std::uint64_t tags[] = {replies->add(delivered), replies->add(on_the_edge),
                                  replies->add(queued), replies->add(elsewhere)};
    replies->sent(tags[0], kOld, 99);
    replies->sent(tags[1], kOld, 100);
    replies->sent(tags[2], kOld, 250);
    replies->sent(tags[3], kNew, 500);
    on_loop([&] { replies->connection_ended(kOld, 100, LinkEnd::kBroken, now()); });
    const auto first = replies->take_update(delivered);
    EXPECT_FALSE(first.answered);
    EXPECT_EQ(first.broken_at, now());
    for (PendingReply* unsent : {&on_the_edge, &queued}) {
        ASSERT_TRUE(replies->take_update(*unsent).answered);
        EXPECT_EQ(unsent->answer->error().code, ErrorCode::kUnavailable);
        EXPECT_TRUE(unsent->answer->error().may_retry());
    }
    const auto other = replies->take_update(elsewhere);
    EXPECT_FALSE(other.answered);
    EXPECT_FALSE(other.broken_at);
    for (const std::uint64_t tag : tags) replies->remove(tag);
}

TEST_F(PendingRepliesTest, Item33_AfterAGoodbyeAWrittenCallIsUnknownAtOnce) {
    PendingReply call(loop, sink);
    const std::uint64_t tag = replies->add(call);
    replies->sent(tag, kOld, 10);
    on_loop([&] { replies->connection_ended(kOld, 100, LinkEnd::kGoodbye, now()); });
    EXPECT_TRUE(replies->take_update(call).answered);
    EXPECT_EQ(call.answer.value().error().code, ErrorCode::kOutcomeUnknown);
    replies->remove(tag);
}

TEST_F(PendingRepliesTest, Item30_AReplyAfterTheBreakStillCounts) {
    PendingReply call(loop, sink);
    const std::uint64_t tag = replies->add(call);
    replies->sent(tag, kOld, 10);
    on_loop([&] {
        replies->connection_ended(kOld, 100, LinkEnd::kBroken, now());
        EXPECT_TRUE(replies->resolve(tag, text("back again")));
    });
    EXPECT_TRUE(replies->take_update(call).answered);
    EXPECT_EQ((*call.answer)->content, "back again");
    replies->remove(tag);
}

TEST_F(PendingRepliesTest, AnAnswerThatCameBeforeTheBreakStays) {
    PendingReply call(loop, sink);
    const std::uint64_t tag = replies->add(call);
    replies->sent(tag, kOld, 10);
    on_loop([&] {
        replies->resolve(tag, text("in time"));
        replies->connection_ended(kOld, 0, LinkEnd::kGoodbye, now());
    });
    EXPECT_TRUE(replies->take_update(call).answered);
    EXPECT_EQ((*call.answer)->content, "in time");
    replies->remove(tag);
}

TEST_F(PendingRepliesTest, AnUploadIsForTheCallThatItNamesAndIsClaimedOnce) {
    PendingReply first(loop, sink), second(loop, sink);
    const std::uint64_t tag = replies->add(first), other = replies->add(second);
    EXPECT_TRUE(
        replies->attach(first.id.view(), {.id = "a1", .content_type = "image/jpeg", .bytes = 7}));
    EXPECT_FALSE(replies->attach("0192f6c1-7a10-7c3e-9b1d-5f2a8c0e4d77", {.id = "a2"}));
    EXPECT_EQ(replies->claim_artifact(other, "a1").error().code, ErrorCode::kInternal)
        << "of another call";
    const auto claimed = replies->claim_artifact(tag, "a1");
    ASSERT_TRUE(claimed);
    EXPECT_TRUE(core::is_reference(*claimed));
    EXPECT_THAT(claimed->content, testing::HasSubstr(R"("href":"/v1/artifacts/a1")"));
    EXPECT_FALSE(replies->claim_artifact(tag, "a1"));
    on_loop([&] { replies->resolve(tag, text("done")); });
    EXPECT_FALSE(replies->attach(first.id.view(), {.id = "a3"})) << "it was answered";
    replies->remove(tag), replies->remove(other);
}

TEST(PendingRepliesUploads, WhatNoResultNamedIsDiscardedWithItsCall) {
    FakeClock clock;
    net::EventLoop loop(clock);
    core::FrameSink sink;
    std::vector<std::string> discarded;
    const auto replies = std::make_shared<PendingReplies>(
        [&](std::vector<std::string> ids) { discarded = std::move(ids); });
    PendingReply call(loop, sink);
    const std::uint64_t tag = replies->add(call);
    for (const char* id : {"a1", "a2", "a3"})
        EXPECT_TRUE(replies->attach(call.id.view(), {.id = id}));
    EXPECT_TRUE(replies->claim_artifact(tag, "a2"));
    replies->remove(tag);
    EXPECT_THAT(discarded, testing::ElementsAre("a1", "a3"));
}

TEST_F(PendingRepliesTest, Item62_ProgressIsPassedOnAtMostTenTimesASecond) {
    PendingReply call(loop, sink);
    const std::uint64_t tag = replies->add(call);
    on_loop([&] {
        for (int ms = 0; ms < 1000; ms += 10) {
            replies->progress(tag, note(std::to_string(ms)), now());
            clock.advance(10ms);
        }
    });
    EXPECT_EQ(sink.messages.size(), 10u);
    EXPECT_EQ(sink.messages.front(), "0");
    EXPECT_EQ(sink.messages[1], "100");
    replies->remove(tag);
    on_loop([&] { replies->progress(tag, note("late"), now() + 1s); });
    EXPECT_EQ(sink.messages.size(), 10u);
}

TEST_F(PendingRepliesTest, ProgressForACallerThatDoesNotWantItIsDropped) {
    sink.wanted = false;
    PendingReply call(loop, sink);
    const std::uint64_t tag = replies->add(call);
    on_loop([&] { replies->progress(tag, note("x"), now()); });
    EXPECT_TRUE(sink.messages.empty());
    replies->remove(tag);
}

Task<void> wait_for_answer(PendingReplies& replies, net::EventLoop& loop,
                           std::promise<std::uint64_t>& tag, std::promise<std::string>& answer) {
    core::FrameSink nobody;
    PendingReply call(loop, nobody);
    const std::uint64_t own = replies.add(call);
    tag.set_value(own);
    while (true) {
        (void)co_await call.waiter.wait(kNoDeadline);
        if (!replies.take_update(call).answered) continue;
        answer.set_value((*call.answer)->content);
        co_return;
    }
}

TEST(PendingRepliesThreads, Item30_AReplyOnAnyLoopResumesTheCallOnItsOwn) {
    RealClock clock;
    net::test::LoopThread home(clock), other(clock), third(clock);
    const auto replies = std::make_shared<PendingReplies>();
    for (int i = 0; i < 200; ++i) {
        std::promise<std::uint64_t> tag;
        std::promise<std::string> answer;
        home.loop.post([&] {
            spawn(home.loop.executor(), wait_for_answer(*replies, home.loop, tag, answer),
                  [](std::exception_ptr) {});
        });
        const std::uint64_t known = tag.get_future().get();
        // Two connections answer at once, and the old link is found dead: one answer wins, nothing
        // is lost.
        other.loop.post([&replies, known] { replies->resolve(known, text("other")); });
        third.loop.post([&replies, known] {
            replies->connection_ended(ConnectionId{1}, 0, LinkEnd::kBroken, {});
            replies->resolve(known, text("third"));
        });
        EXPECT_THAT(answer.get_future().get(), testing::AnyOf("other", "third"));
    }
    for (auto* thread : {&home, &other, &third}) thread->run([] {});
    EXPECT_EQ(replies->size(), 0u);
}

TEST_F(PendingRepliesTest, ACallThatAnotherNodeHoldsOutlivesItsLinkAndIsAnsweredByItsWholeId) {
    PendingReply reply(loop, sink);
    const std::uint64_t tag = replies->add(reply);
    const std::string id(reply.id.view());
    replies->sent(tag, kOld, 0, "one");
    on_loop([&] {
        replies->connection_ended(kOld, 100, LinkEnd::kBroken, now());
        EXPECT_TRUE(replies->take_update(reply).broken_at);
        replies->set_held_elsewhere(id, true, now());
        EXPECT_FALSE(replies->take_update(reply).broken_at);
        clock.advance(5s);
        replies->set_held_elsewhere(id, false, now());
        EXPECT_EQ(replies->take_update(reply).broken_at, now());
        std::string other = id;
        other[0] = other[0] == 'f' ? 'e' : 'f';  // the same tag
        EXPECT_FALSE(replies->waits_for(other));
        EXPECT_FALSE(replies->resolve(other, text("forged")));
        EXPECT_TRUE(replies->waits_for(id));
        EXPECT_TRUE(replies->resolve(id, text("boiled")));
        EXPECT_FALSE(replies->resolve(id, text("again")));
        EXPECT_TRUE(replies->take_update(reply).answered);
        EXPECT_EQ((*reply.answer)->content, "boiled");
    });
}

TEST_F(PendingRepliesTest, WhileAnotherNodeHoldsACallTheEndOfItsLinkIsNoEnd) {
    for (const LinkEnd end : {LinkEnd::kBroken, LinkEnd::kGoodbye}) {
        PendingReply reply(loop, sink);
        const std::uint64_t tag = replies->add(reply);
        const std::string id(reply.id.view());
        replies->sent(tag, kOld, 0, "one");
        on_loop([&] {
            replies->set_held_elsewhere(id, true, now());
            replies->connection_ended(kOld, 100, end, now());
            PendingReplies::Update news = replies->take_update(reply);
            EXPECT_FALSE(news.answered || news.broken_at);
            replies->set_held_elsewhere(id, false, now());
            news = replies->take_update(reply);
            EXPECT_TRUE(news.broken_at && !news.answered);
            replies->remove(tag);
        });
    }
}

}  // namespace
}  // namespace crab::clawseed
