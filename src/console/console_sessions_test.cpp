#include "console/console_sessions.hpp"

#include "base/test_clock.hpp"

#include <gtest/gtest.h>

namespace crab::console {
namespace {

using namespace std::chrono_literals;

class ConsoleSessionsTest : public testing::Test {
protected:
    bool is_open(const ConsoleSessions::Opened& opened) {
        return sessions.find(opened.cookie.reveal(), opened.key.reveal()).has_value();
    }
    bool takes_ticket(const ConsoleSessions::Opened& opened, const Secret<std::string>& ticket) {
        return sessions.redeem_ticket(opened.cookie.reveal(), ticket.reveal()).has_value();
    }

    FakeClock clock;
    crypto::SystemRandom random;
    ConsoleSessions sessions{clock, random, {.idle = 30min, .max_sessions = 3, .max_tickets = 2}};
};

TEST_F(ConsoleSessionsTest, BothHalvesOpenItAndTellWhoseItIs) {
    const auto opened = sessions.open("local/1000");
    EXPECT_EQ(opened.cookie.reveal().size(), 43u);
    EXPECT_EQ(opened.key.reveal().size(), 43u);
    EXPECT_NE(opened.cookie.reveal(), opened.key.reveal());
    const auto found = sessions.find(opened.cookie.reveal(), opened.key.reveal());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->principal, "local/1000");
    EXPECT_EQ(found->expires_at, clock.system_now() + 12h);
}

TEST_F(ConsoleSessionsTest, OneHalfAloneOrThatOfAnotherSessionOpensNothing) {
    const auto mine = sessions.open("local/1000"), other = sessions.open("local/1000");
    const std::string cookie = mine.cookie.reveal(), key = mine.key.reveal();
    for (const auto& [half, second] : {std::pair{cookie, std::string()},
                                       {std::string(), key},
                                       {key, cookie},
                                       {cookie, other.key.reveal()},
                                       {cookie, key + "A"},
                                       {cookie, std::string(1 << 20, 'A')}}) {
        const auto found = sessions.find(half, second);
        ASSERT_FALSE(found);
        EXPECT_EQ(found.error().code, ErrorCode::kUnauthenticated);
    }
    EXPECT_TRUE(is_open(mine));
}

TEST_F(ConsoleSessionsTest, ItEndsUnusedButNotWhileItIsUsed) {
    const auto used = sessions.open("local/1000"), idle = sessions.open("local/1000");
    clock.advance(29min);
    EXPECT_TRUE(is_open(used));
    clock.advance(1min);
    EXPECT_TRUE(is_open(used));
    EXPECT_FALSE(is_open(idle));
    EXPECT_FALSE(sessions.is_alive(idle.session.number));
    // asking whether it goes on is no use
    clock.advance(29min);
    EXPECT_TRUE(sessions.is_alive(used.session.number));
    clock.advance(1min);
    EXPECT_FALSE(sessions.is_alive(used.session.number));
}

TEST_F(ConsoleSessionsTest, ItEndsOfAgeHoweverMuchItIsUsed) {
    const auto opened = sessions.open("local/1000");
    for (int i = 0; i < 12 * 3 - 1; ++i) {
        clock.advance(20min);
        ASSERT_TRUE(is_open(opened)) << i;
    }
    clock.advance(20min);
    EXPECT_FALSE(is_open(opened));
}

TEST_F(ConsoleSessionsTest, ANightAsleepCountsThoughTheSteadyClockStandsStill) {
    const auto opened = sessions.open("local/1000");
    clock.set_system_clock(12h);
    EXPECT_FALSE(is_open(opened));
}

TEST_F(ConsoleSessionsTest, EachEndIsToldOnceWithItsCause) {
    using End = ConsoleSessions::End;
    const auto told = [&] {
        std::vector<std::pair<std::uint64_t, End>> all;
        for (const auto& ended : sessions.take_ended()) all.emplace_back(ended.number, ended.end);
        return all;
    };
    const std::uint64_t first = sessions.open("a").session.number;
    for (int i = 0; i < 3; ++i) (void)sessions.open("a");
    EXPECT_EQ(told(), (std::vector{std::pair(first, End::kCrowdedOut)}));
    sessions.end(first + 1);
    sessions.end(first + 1);
    EXPECT_EQ(told(), (std::vector{std::pair(first + 1, End::kSignedOut)}));
    clock.advance(31min);
    EXPECT_EQ(told(), (std::vector{std::pair(first + 2, End::kExpired),
                                   std::pair(first + 3, End::kExpired)}));
    (void)sessions.open("a");
    sessions.stop();
    EXPECT_EQ(told(), (std::vector{std::pair(first + 4, End::kStopped)}));
    EXPECT_TRUE(told().empty());
}

TEST_F(ConsoleSessionsTest, ATicketIsGoodOnceForItsOwnCookieAndNotForLong) {
    const auto mine = sessions.open("local/1000"), other = sessions.open("local/1000");
    const auto ticket = sessions.open_ticket(mine.session.number);
    EXPECT_FALSE(takes_ticket(other, ticket));
    EXPECT_TRUE(takes_ticket(mine, ticket));
    EXPECT_FALSE(takes_ticket(mine, ticket));
    EXPECT_FALSE(takes_ticket(mine, Secret(std::string())));
    EXPECT_FALSE(takes_ticket(mine, mine.key));
    const auto late = sessions.open_ticket(mine.session.number);
    clock.advance(30s);
    EXPECT_FALSE(takes_ticket(mine, late));
}

TEST_F(ConsoleSessionsTest, TicketsAndSessionsAreBounded) {
    const auto first = sessions.open("local/1000");
    const auto dropped = sessions.open_ticket(first.session.number);
    const auto kept = sessions.open_ticket(first.session.number);
    sessions.open_ticket(first.session.number);
    EXPECT_FALSE(takes_ticket(first, dropped));
    EXPECT_TRUE(takes_ticket(first, kept));

    const auto second = sessions.open("local/1000");
    EXPECT_TRUE(is_open(first));
    sessions.open("local/1000");
    sessions.open("local/1000");
    EXPECT_EQ(sessions.size(), 3u);
    EXPECT_TRUE(is_open(first));
    EXPECT_FALSE(is_open(second));  // used longest ago
}

TEST_F(ConsoleSessionsTest, SigningOutEndsItAndItsTickets) {
    const auto opened = sessions.open("local/1000");
    const auto ticket = sessions.open_ticket(opened.session.number);
    sessions.end(opened.session.number);
    EXPECT_FALSE(is_open(opened));
    EXPECT_FALSE(takes_ticket(opened, ticket));
    EXPECT_TRUE(sessions.open_ticket(opened.session.number).reveal().empty());
}

}  // namespace
}  // namespace crab::console
