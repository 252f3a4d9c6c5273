#include "adapters/mcp/server/sessions.hpp"

#include "core/call/test_tools.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace crab::mcp
