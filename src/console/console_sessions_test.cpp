#include "console/console_sessions.hpp"

#include "base/test_clock.hpp"

#include <gtest/gtest.h>

namespace crab::console {
namespace {

using namespace std::chrono_literals;

class ConsoleSessionsTest : public testing::Test {
protected:
    ConsoleSessions::Opened open(std::string principal) {
        return sessions.open({.principal = std::move(principal),
                              .roles = {core::Role::kOperator},
                              .credential = "0a1b2c3d"});
    }
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
    const auto opened = open("local/1000");
    EXPECT_EQ(opened.cookie.reveal().size(), 43u);
    EXPECT_EQ(opened.key.reveal().size(), 43u);
    EXPECT_NE(opened.cookie.reveal(), opened.key.reveal());
    const auto found = sessions.find(opened.cookie.reveal(), opened.key.reveal());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->principal, "local/1000");
    EXPECT_EQ(found->expires_at, clock.system_now() + 12h);
}

TEST_F(ConsoleSessionsTest, OneHalfAloneOrThatOfAnotherSessionOpensNothing) {
    const auto mine = open("local/1000"), other = open("local/1000");
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
    const auto used = open("local/1000"), idle = open("local/1000");
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
    const auto opened = open("local/1000");
    for (int i = 0; i < 12 * 3 - 1; ++i) {
        clock.advance(20min);
        ASSERT_TRUE(is_open(opened)) << i;
    }
    clock.advance(20min);
    EXPECT_FALSE(is_open(opened));
}

TEST_F(ConsoleSessionsTest, ANightAsleepCountsThoughTheSteadyClockStandsStill) {
    const auto opened = open("local/1000");
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
    const std::uint64_t first = open("a").session.number;
    for (int i = 0; i < 3; ++i) (void)open("a");
    EXPECT_EQ(told(), (std::vector{std::pair(first, End::kCrowdedOut)}));
    sessions.end(first + 1);
    sessions.end(first + 1);
    EXPECT_EQ(told(), (std::vector{std::pair(first + 1, End::kSignedOut)}));
    clock.advance(31min);
    EXPECT_EQ(told(), (std::vector{std::pair(first + 2, End::kExpired),
                                   std::pair(first + 3, End::kExpired)}));
    (void)open("a");
    sessions.stop();
    EXPECT_EQ(told(), (std::vector{std::pair(first + 4, End::kStopped)}));
    EXPECT_TRUE(told().empty());
}

TEST_F(ConsoleSessionsTest, ATicketIsGoodOnceForItsOwnCookieAndNotForLong) {
    const auto mine = open("local/1000"), other = open("local/1000");
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
    const auto first = open("local/1000");
    const auto dropped = sessions.open_ticket(first.session.number);
    const auto kept = sessions.open_ticket(first.session.number);
    sessions.open_ticket(first.session.number);
    EXPECT_FALSE(takes_ticket(first, dropped));
    EXPECT_TRUE(takes_ticket(first, kept));

    const auto second = open("local/1000");
    EXPECT_TRUE(is_open(first));
    (void)open("local/1000");
    (void)open("local/1000");
    EXPECT_EQ(sessions.size(), 3u);
    EXPECT_TRUE(is_open(first));
    EXPECT_FALSE(is_open(second));  // used longest ago
}

TEST_F(ConsoleSessionsTest, SigningOutEndsItAndItsTickets) {
    const auto opened = open("local/1000");
    const auto ticket = sessions.open_ticket(opened.session.number);
    sessions.end(opened.session.number);
    EXPECT_FALSE(is_open(opened));
    EXPECT_FALSE(takes_ticket(opened, ticket));
    EXPECT_TRUE(sessions.open_ticket(opened.session.number).reveal().empty());
}

TEST_F(ConsoleSessionsTest, NobodyCrowdsOthersOut) {
    ConsoleSessions few{clock, random, {.max_sessions = 4, .max_per_principal = 2}};
    const auto mine = few.open({.principal = "caller/me"});
    std::vector<ConsoleSessions::Opened> floods;
    for (int i = 0; i < 10; ++i) floods.push_back(few.open({.principal = "caller/flood"}));
    EXPECT_TRUE(few.is_alive(mine.session.number));
    EXPECT_TRUE(few.is_alive(floods[8].session.number));
    EXPECT_FALSE(few.is_alive(floods[7].session.number));
    EXPECT_EQ(few.size(), 3u);
}

TEST_F(ConsoleSessionsTest, ASessionEndsWithWhatItWasOpenedWith) {
    const auto opened = sessions.open(
        {.principal = "caller/me", .credential = "x", .expires_at = clock.system_now() + 5min});
    const auto other = open("local/1000");
    sessions.end_those([](const ConsoleSession& it) { return it.credential == "0a1b2c3d"; },
                       ConsoleSessions::End::kRevoked);
    EXPECT_FALSE(is_open(other));
    EXPECT_TRUE(is_open(opened));
    clock.advance(5min);
    EXPECT_FALSE(is_open(opened));
}

TEST_F(ConsoleSessionsTest, AKeyIsProvenUntilItIsRevokedOrTheProcessEnds) {
    const auto opened = open("local/1000");
    EXPECT_FALSE(sessions.find_open(opened.session.number)->proven_at);
    sessions.prove(opened.session.number, "0a1b2c3d");
    sessions.forget_proofs_of("ffffffff");
    EXPECT_EQ(sessions.find_open(opened.session.number)->proven_at, clock.steady_now());
    sessions.forget_proofs_of("0a1b2c3d");
    EXPECT_FALSE(sessions.find_open(opened.session.number)->proven_at);
}

/// One after the other, as a process and the next.
TEST_F(ConsoleSessionsTest, WhatWasStoredIsAsGoodAsBeforeAndNotBetter) {
    const auto used = open("local/1000"), idle = open("local/1000");
    clock.advance(20min);
    EXPECT_TRUE(is_open(used));
    EXPECT_EQ(sessions.take_uses().size(), 1u);
    EXPECT_TRUE(sessions.take_uses().empty());
    std::vector<StoredSession> stored{*sessions.stored(used.session.number),
                                      *sessions.stored(idle.session.number)};
    EXPECT_EQ(stored[0].used_at, clock.system_now());
    ConsoleSessions later{clock, random, {.idle = 30min}};
    later.restore(stored);
    clock.advance(15min);
    EXPECT_TRUE(later.find(used.cookie.reveal(), used.key.reveal()));
    EXPECT_FALSE(later.find(idle.cookie.reveal(), idle.key.reveal()));
    EXPECT_EQ(later.open({.principal = "x"}).session.number, 3u) << "numbers come once";
}

TEST_F(ConsoleSessionsTest, AClockThatWasSetBackMakesNothingYounger) {
    const auto opened = open("local/1000");
    auto stored = *sessions.stored(opened.session.number);
    stored.used_at += 10h;
    stored.session.expires_at += 100h;
    ConsoleSessions later{clock, random, {.idle = 30min}};
    later.restore({stored});
    clock.advance(30min);
    EXPECT_FALSE(later.is_alive(opened.session.number));
}

}  // namespace
}  // namespace crab::console
