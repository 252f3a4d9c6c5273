#include "adapters/mcp/server/sessions.hpp"

#include "base/test_clock.hpp"
#include "core/call/test_tools.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace crab::mcp {
namespace {

using namespace std::chrono_literals;

struct McpSessions : testing::Test {
    FakeClock clock;
    crypto::SystemRandom random;
    Sessions sessions{clock, random, {.idle = 30min, .per_principal = 3}};
    core::PrincipalRef ann = core::principal_of("caller/ann");

    std::shared_ptr<Session> open(const core::PrincipalRef& of) {
        clock.advance(1s);
        return sessions.open({.principal = of->id, .tenant = of->tenant.text()});
    }
    bool lives(const std::shared_ptr<Session>& session) {
        return sessions.find(session->facts().id, *ann) == session;
    }
};

TEST_F(McpSessions, OfTooManyTheOneThatWasIdleForLongestEnds) {
    const auto first = open(ann), second = open(ann), third = open(ann);
    { const Session::Use use(first); }
    const Session::Use busy(second);
    open(core::principal_of("caller/bob"));
    EXPECT_TRUE(lives(third));
    clock.advance(1s);
    { const Session::Use use(first); }
    open(ann);
    EXPECT_FALSE(lives(third));
    EXPECT_TRUE(third->ended());
    EXPECT_TRUE(lives(first));
    EXPECT_TRUE(lives(second));
}

TEST_F(McpSessions, OfTooManyBusyOnesTheOldestEnds) {
    std::vector<std::shared_ptr<Session>> all;
    std::vector<std::unique_ptr<Session::Use>> uses;
    for (std::size_t i = 0; i < 20; ++i) {
        all.push_back(open(ann));
        uses.push_back(std::make_unique<Session::Use>(all.back()));
        for (std::size_t each = 0; each <= i; ++each)
            EXPECT_EQ(lives(all[each]), each + 3 > i) << each << " of " << i;
    }
    EXPECT_EQ(sessions.size(), 3u);
}

TEST_F(McpSessions, ASessionRunsSoManyCallsAtOnce) {
    const auto session = open(ann);
    asio::io_context loop;
    const Executor nowhere = loop.get_executor();
    for (int i = 0; i < 256; ++i) ASSERT_TRUE(session->begin(RequestId(i), nowhere));
    EXPECT_EQ(session->begin(RequestId(7), nowhere).error().code, ErrorCode::kConflict);
    EXPECT_EQ(session->begin(RequestId(256), nowhere).error().code, ErrorCode::kRateLimited);
    session->finish(RequestId(7));
    EXPECT_FALSE(session->runs(RequestId(7)));
    EXPECT_TRUE(session->begin(RequestId("7"), nowhere)) << "another one: a text";
}

TEST_F(McpSessions, AnIdleSessionEndsUnlessSomethingIsUnderWay) {
    const auto idle = open(ann), busy = open(ann);
    const Session::Use use(busy);
    clock.advance(31min);
    EXPECT_FALSE(lives(idle));
    EXPECT_TRUE(lives(busy));
}

TEST_F(McpSessions, ATenantIsPartOfWhoseSessionItIs) {
    const auto session = open(ann);
    EXPECT_EQ(sessions.find(session->facts().id,
                            *core::principal_of("caller/ann", {core::Role::kCaller}, "other")),
              nullptr);
}

TEST_F(McpSessions, ARevokedCredentialEndsWhatItHasOpened) {
    const auto of = [&](std::string credential) {
        return sessions.open({.principal = ann->id, .credential = std::move(credential)});
    };
    const auto gone = of("t1"), other = of("t2"), none = of("");
    sessions.end_credential("t1");
    sessions.end_credential("");
    EXPECT_TRUE(gone->ended());
    EXPECT_FALSE(other->ended());
    EXPECT_FALSE(none->ended());
    EXPECT_EQ(sessions.size(), 2u);
}

TEST(McpSessionStream, EventsAreKeptWithinBounds) {
    SessionStream stream(4);
    for (int i = 0; i < 300; ++i) stream.add("{}");
    EXPECT_FALSE(stream.can_resume(10));
    EXPECT_TRUE(stream.can_resume(44));
    EXPECT_TRUE(stream.can_resume(300));
    EXPECT_FALSE(stream.can_resume(301));
    stream.add(std::string(2 << 20, ' '));
    EXPECT_FALSE(stream.can_resume(299));
    EXPECT_TRUE(stream.can_resume(300));
}

TEST(McpSessionStream, OneReaderAtATimeTakesEachEventOnce) {
    SessionStream stream(2);
    EXPECT_FALSE(stream.add_if_read("{}"));
    const auto first = stream.attach(nullptr);
    EXPECT_TRUE(stream.add_if_read(R"({"a":1})"));
    auto taken = stream.take(first, 0);
    EXPECT_EQ(taken.bytes, "event: message\nid: 2-1\ndata: {\"a\":1}\n\n");
    EXPECT_EQ(stream.take(first, taken.last).bytes, "");
    const auto second = stream.attach(nullptr);
    EXPECT_TRUE(stream.take(first, taken.last).replaced);
    stream.close(SteadyTime{});
    taken = stream.take(second, 0);
    EXPECT_FALSE(taken.replaced);
    EXPECT_TRUE(taken.ended);
    EXPECT_FALSE(taken.bytes.empty());
}

TEST(McpSessionStream, EventIdsAreReadStrictly) {
    const auto id = EventId::parse("12-345");
    ASSERT_TRUE(id);
    EXPECT_EQ(id->stream, 12u);
    EXPECT_EQ(id->number, 345u);
    for (const std::string_view wrong :
         {"", "-", "1", "1-", "-1", "1-2-3", "a-1", "1-99999999999999999999999"})
        EXPECT_FALSE(EventId::parse(wrong)) << wrong;
}

TEST_F(McpSessions, WhatIsKeptForResumingHasALimitForEachAndForAll) {
    constexpr std::size_t kMiB = std::size_t{1} << 20;
    Sessions small{clock, random, {.bytes_per_session = 4 * kMiB, .bytes_per_principal = 6 * kMiB}};
    const std::string reply(kMiB, 'r');
    const auto serve = [&](const std::shared_ptr<Session>& session, const std::string& with) {
        const auto stream = session->open_stream();
        const auto reader = stream->attach(nullptr);
        session->make_room_for(with.size());
        stream->add(with);
        EXPECT_GT(stream->take(reader, 0).bytes.size(), with.size()) << "whoever waits gets it";
        stream->close(clock.steady_now());
        return stream->number();
    };
    const auto resumes = [](const std::shared_ptr<Session>& session, std::uint64_t number) {
        const auto stream = session->find_stream(number);
        return stream && stream->can_resume(0);
    };
    const auto first = small.open({.principal = "ann"}), second = small.open({.principal = "ann"});
    std::vector<std::uint64_t> streams;
    for (int i = 0; i < 10; ++i) streams.push_back(serve(first, reply));
    EXPECT_FALSE(resumes(first, streams[6])) << "the oldest have gone";
    EXPECT_TRUE(resumes(first, streams[7]));
    EXPECT_TRUE(resumes(first, streams[9]));
    EXPECT_FALSE(resumes(first, serve(first, std::string(5 * kMiB, 'r'))));
    const auto keeps = [&](const std::shared_ptr<Session>& session) {
        std::vector<std::uint64_t> numbers;
        for (int i = 0; i < 10; ++i) numbers.push_back(serve(session, reply));
        return std::ranges::count_if(numbers, [&](auto each) { return resumes(session, each); });
    };
    EXPECT_EQ(keeps(first), 3);
    EXPECT_EQ(keeps(second), 2) << "the rest of their principal's 6 MiB";
    clock.advance(Session::kStreamsKept);
    EXPECT_TRUE(small.sweep());
    EXPECT_EQ(keeps(second), 3) << "what the first kept is free, though it does not come again";
    clock.advance(31min);
    EXPECT_FALSE(small.sweep());
    EXPECT_TRUE(first->ended());
}

TEST(McpSessionStream, WhatIsNotKeptIsThereUntilItIsTaken) {
    const auto budget = std::make_shared<ByteBudget>(1000);
    SessionStream stream(1, budget);
    stream.add(std::string(2000, ' '));
    EXPECT_FALSE(stream.can_resume(0)) << "nobody read it";
    const auto reader = stream.attach(nullptr);
    stream.add(std::string(2000, ' '));
    EXPECT_GT(stream.take(reader, 1).bytes.size(), 2000u);
    EXPECT_EQ(stream.take(reader, 1).bytes, "");
    EXPECT_EQ(budget->held(), 0u);
    stream.add("{}");
    EXPECT_TRUE(stream.can_resume(2));
    EXPECT_GT(budget->held(), 0u);
}

}  // namespace
}  // namespace crab::mcp
