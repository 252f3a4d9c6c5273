#include "core/ledger/ledger.hpp"

#include "base/task/test_loop.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<const Outcome> outcome_of(std::string content) {
    ToolResult result;
    result.content = std::move(content);
    return std::make_shared<const Outcome>(std::move(result));
}

struct LedgerTest : testing::Test {
    TestLoop loop;
    Ledger ledger{loop.clock,
                  {.max_bytes = std::size_t{2} << 20, .keep = std::chrono::minutes(10)}};

    Ledger::Answer admit(std::string_view key, std::uint64_t content = 1,
                         std::string_view principal = "ann", std::string_view tenant = "acme") {
        return ledger.admit({.tenant = tenant, .principal = principal, .key = key}, content,
                            loop.executor(), loop.timers);
    }
};

TEST_F(LedgerTest, AFirstCallIsNewAndARepeatOfItsEndIsReplayed) {
    auto first = admit("k");
    ASSERT_EQ(first.admission, Admission::kNew);
    const LedgerKey key{.tenant = "acme", .principal = "ann", .key = "k"};
    EXPECT_FALSE(ledger.has_finished(key));
    first.ticket.finish(outcome_of("done"), 7ms);
    EXPECT_TRUE(ledger.has_finished(key));
    const auto again = admit("k");
    ASSERT_EQ(again.admission, Admission::kReplay);
    EXPECT_EQ(again.duration, 7ms);
    EXPECT_EQ((*again.outcome)->content, "done");
    EXPECT_EQ(ledger.entries(), 1u);
}

TEST_F(LedgerTest, OtherContentUnderTheSameKeyIsAConflictWhileItRunsAndAfter) {
    auto first = admit("k", 1);
    EXPECT_EQ(admit("k", 2).admission, Admission::kConflict);
    first.ticket.finish(outcome_of("done"));
    EXPECT_EQ(admit("k", 2).admission, Admission::kConflict);
    EXPECT_EQ(admit("k", 1).admission, Admission::kReplay);
}

TEST_F(LedgerTest, KeysOfOtherPrincipalsAndTenantsAreOthers) {
    auto first = admit("k", 1, "ann", "acme");
    EXPECT_EQ(admit("k", 2, "bob", "acme").admission, Admission::kNew);
    EXPECT_EQ(admit("k", 2, "ann", "other").admission, Admission::kNew);
    EXPECT_EQ(admit("k", 2, "acme", "ann").admission, Admission::kNew);
    EXPECT_EQ(admit("nk", 2, "an", "acme").admission, Admission::kNew);
}

TEST_F(LedgerTest, ARepeatWhileItRunsJoinsAndGetsTheSameOutcome) {
    auto first = admit("k");
    auto second = admit("k"), third = admit("k");
    ASSERT_EQ(second.admission, Admission::kJoin);
    const auto one = loop.start(second.joiner->wait(kNoDeadline)),
               two = loop.start(third.joiner->wait(kNoDeadline));
    first.ticket.finish(outcome_of("done"));
    loop.settle();
    EXPECT_EQ(one->get(), WaitEnd::kWoken);
    EXPECT_EQ(two->get(), WaitEnd::kWoken);
    EXPECT_EQ((*second.joiner->outcome)->content, "done");
    EXPECT_EQ(second.joiner->outcome, third.joiner->outcome);
}

TEST_F(LedgerTest, FinishingWithNothingLetsTheJoinersAndRepeatsRunAnew) {
    auto first = admit("k");
    auto second = admit("k");
    const auto waiting = loop.start(second.joiner->wait(kNoDeadline));
    first.ticket.finish(nullptr);
    loop.settle();
    EXPECT_TRUE(waiting->ended());
    EXPECT_EQ(second.joiner->outcome, nullptr);
    EXPECT_EQ(ledger.entries(), 0u);
    EXPECT_EQ(admit("k", 7).admission, Admission::kNew);
}

TEST_F(LedgerTest, ATicketThatIsOnlyDestroyedOrReplacedCountsAsNothing) {
    { auto first = admit("k"); }
    EXPECT_EQ(ledger.entries(), 0u);
    auto one = admit("k"), other = admit("l");
    one.ticket = std::move(other.ticket);
    EXPECT_EQ(ledger.entries(), 1u);
    EXPECT_EQ(admit("k", 5).admission, Admission::kNew);
    EXPECT_EQ(admit("l", 5).admission, Admission::kConflict);
    one.ticket.finish(outcome_of("done"));
    one.ticket.finish(outcome_of("again"));
    EXPECT_EQ((*admit("l").outcome)->content, "done");
}

TEST_F(LedgerTest, JoinersOfOneCallAndOfOnePrincipalAreBoundedAndLeaveWhenTheyStopWaiting) {
    Ledger small(loop.clock,
                 {.max_bytes = std::size_t{2} << 20, .max_joins = 3, .max_joins_per_principal = 4});
    const auto ask = [&](std::string_view key, std::string_view principal = "ann") {
        return small.admit({.tenant = "acme", .principal = principal, .key = key}, 1,
                           loop.executor(), loop.timers);
    };
    const auto first = ask("a"), second = ask("b"), other = ask("a", "bob");
    std::vector<Ledger::Answer> waiting;
    for (int i = 0; i < 3; ++i) waiting.push_back(ask("a"));
    for (const auto& answer : waiting) EXPECT_EQ(answer.admission, Admission::kJoin);
    EXPECT_EQ(ask("a").admission, Admission::kTooMany) << "three wait for this call";
    waiting.push_back(ask("b"));
    EXPECT_EQ(waiting.back().admission, Admission::kJoin);
    EXPECT_EQ(ask("b").admission, Admission::kTooMany) << "four of this principal wait";
    EXPECT_EQ(ask("a", "bob").admission, Admission::kJoin)
        << "another principal has places of its own";
    EXPECT_EQ(small.joins(), 4u);
    waiting.erase(waiting.begin());  // its deadline passed, or it was cancelled
    EXPECT_EQ(ask("a").admission, Admission::kJoin);
    waiting.clear();
    EXPECT_EQ(small.joins(), 0u);
    for (int i = 0; i < 1000; ++i)
        EXPECT_EQ(ask("a").admission, Admission::kJoin) << "who left takes no place";
}

TEST_F(LedgerTest, WhoLeavesAfterTheEndDisturbsNoLaterCallOfTheKey) {
    auto first = admit("k");
    auto late = admit("k");
    first.ticket.finish(nullptr);
    auto again = admit("k");
    ASSERT_EQ(again.admission, Admission::kNew);
    auto joined = admit("k");
    ASSERT_EQ(joined.admission, Admission::kJoin);
    late = {};
    again.ticket.finish(outcome_of("done"));
    loop.settle();
    ASSERT_NE(joined.joiner->outcome, nullptr);
    EXPECT_EQ(ledger.joins(), 1u);
}

TEST_F(LedgerTest, AnOutcomeIsForgottenAfterItsTimeAndARunningCallIsNot) {
    auto finished = admit("f"), running = admit("r");
    finished.ticket.finish(outcome_of("done"));
    loop.clock.advance(10min - 1ns);
    EXPECT_EQ(admit("f").admission, Admission::kReplay);
    loop.clock.advance(1ns);
    EXPECT_EQ(admit("f").admission, Admission::kNew);
    loop.clock.advance(24h);
    EXPECT_EQ(admit("r").admission, Admission::kJoin);
}

TEST_F(LedgerTest, TheOldestOutcomesGoWhenTheBytesRunOut) {
    for (int i = 0; i < 500; ++i)
        admit("k" + std::to_string(i)).ticket.finish(outcome_of(std::string(10'000, 'x')));
    EXPECT_LT(ledger.entries(), 230u);
    EXPECT_GT(ledger.entries(), 80u);
    EXPECT_EQ(admit("k499").admission, Admission::kReplay);
    EXPECT_EQ(admit("k0").admission, Admission::kNew);
}

TEST_F(LedgerTest, AnErrorIsReplayedWithAllItsParts) {
    auto first = admit("k");
    Error error{.code = ErrorCode::kToolFailed,
                .message = "no",
                .details = R"({"a":1})",
                .retryable = false,
                .retry_after = 3s};
    first.ticket.finish(std::make_shared<const Outcome>(fail(error)));
    const auto again = admit("k");
    const Error& replayed = again.outcome->error();
    EXPECT_EQ(replayed.code, error.code);
    EXPECT_EQ(replayed.message, error.message);
    EXPECT_EQ(replayed.details, error.details);
    EXPECT_EQ(replayed.retryable, error.retryable);
    EXPECT_EQ(replayed.retry_after, error.retry_after);
}

TEST_F(LedgerTest, AResultIsReplayedWithAllItsParts) {
    ToolResult result{.kind = ContentKind::kBytes,
                      .content = std::string("\0\xff", 2),
                      .content_type = "image/png",
                      .logs = {"line"},
                      .usage = {.cpu = 1ms, .wall = 2ms, .peak_memory_bytes = 3}};
    for (const bool with_logs : {true, false}) {
        if (!with_logs) result.logs.clear();
        const std::string key = with_logs ? "logs" : "none";
        admit(key).ticket.finish(std::make_shared<const Outcome>(result));
        const auto again = admit(key);
        const ToolResult& replayed = **again.outcome;
        EXPECT_EQ(replayed.kind, result.kind);
        EXPECT_EQ(replayed.content, result.content);
        EXPECT_EQ(replayed.content_type, result.content_type);
        EXPECT_EQ(replayed.logs, result.logs);
        EXPECT_EQ(replayed.usage.cpu, result.usage.cpu);
        EXPECT_EQ(replayed.usage.wall, result.usage.wall);
        EXPECT_EQ(replayed.usage.peak_memory_bytes, result.usage.peak_memory_bytes);
    }
}

/// Against a map that never evicts (the outcomes are small enough): every answer to a random
/// sequence of calls.
TEST_F(LedgerTest, ACallWhoseFirstCallerLeftGoesOnUntilTheLastRepeatLeavesToo) {
    const LedgerKey key{.tenant = "acme", .principal = "ann", .key = "k"};
    int deserted = 0;
    const auto told = [&] { ++deserted; };
    EXPECT_FALSE(ledger.goes_on_for_others(key, told)) << "there is no such call";
    auto first = admit("k");
    EXPECT_FALSE(ledger.goes_on_for_others(key, told)) << "nobody waits for it";
    std::optional<Ledger::Answer> second = admit("k"), third = admit("k");
    EXPECT_TRUE(ledger.goes_on_for_others(key, told));
    second.reset();
    EXPECT_EQ(deserted, 0);
    third.reset();
    EXPECT_EQ(deserted, 1);
    std::optional<Ledger::Answer> fourth = admit("k");
    EXPECT_TRUE(ledger.goes_on_for_others(key, told));
    first.ticket.finish(outcome_of("done"));
    fourth.reset();
    EXPECT_EQ(deserted, 1) << "it has ended";
    EXPECT_FALSE(ledger.goes_on_for_others(key, told));
}

TEST_F(LedgerTest, AgreesWithASimpleMapOverRandomCalls) {
    struct Entry {
        std::uint64_t content = 0;
        bool running = true;
        std::string outcome;
        SteadyTime until;
    };
    for (std::uint32_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random(seed);
        Ledger one(loop.clock,
                   {.max_bytes = std::size_t{64} << 20, .keep = std::chrono::minutes(10)});
        std::map<std::string, Entry> model;
        std::map<std::string, Ledger::Ticket> tickets;
        for (int step = 0; step < 20'000; ++step) {
            if (random() % 20 == 0) loop.clock.advance(std::chrono::seconds(random() % 20));
            if (!tickets.empty() && random() % 2 == 0) {
                auto it = tickets.lower_bound("k" + std::to_string(random() % 900));
                if (it == tickets.end()) it = tickets.begin();
                if (random() % 4 == 0) {
                    it->second.finish(nullptr);
                    model.erase(it->first);
                } else {
                    Entry& entry = model.at(it->first);
                    entry.running = false;
                    entry.outcome =
                        std::string(random() % 300, static_cast<char>('a' + random() % 26));
                    entry.until = loop.clock.steady_now() + 10min;
                    it->second.finish(outcome_of(entry.outcome));
                }
                tickets.erase(it);
                continue;
            }
            const std::string key = "k" + std::to_string(random() % 900);
            const std::uint64_t content = random() % 10 == 0;
            auto answer = one.admit({.tenant = "", .principal = "ann", .key = key}, content,
                                    loop.executor(), loop.timers);
            auto it = model.find(key);
            if (it != model.end() && !it->second.running &&
                it->second.until <= loop.clock.steady_now()) {
                model.erase(it);
                it = model.end();
            }
            if (it == model.end()) {
                ASSERT_EQ(answer.admission, Admission::kNew);
                model[key] = {.content = content, .running = true, .outcome = {}, .until = {}};
                tickets[key] = std::move(answer.ticket);
            } else if (it->second.content != content) {
                ASSERT_EQ(answer.admission, Admission::kConflict);
            } else if (it->second.running) {
                ASSERT_EQ(answer.admission, Admission::kJoin);
            } else {
                ASSERT_EQ(answer.admission, Admission::kReplay);
                ASSERT_EQ((*answer.outcome)->content, it->second.outcome);
            }
        }
        tickets.clear();
        loop.settle();
    }
}

TEST_F(LedgerTest, OfManyThreadsWithOneKeyExactlyOneRuns) {
    constexpr int kThreads = 4, kKeys = 300;
    std::array<std::atomic<int>, kKeys> runs{};
    std::atomic<int> served = 0;
    const auto serve = [&] {
        TestLoop mine;
        const auto call = [&](int key) -> Task<bool> {
            for (;;) {
                auto answer = ledger.admit(
                    {.tenant = "", .principal = "ann", .key = "t" + std::to_string(key)}, 1,
                    mine.executor(), mine.timers);
                if (answer.admission == Admission::kNew) {
                    ++runs[static_cast<std::size_t>(key)];
                    co_await yield_to_loop();
                    answer.ticket.finish(outcome_of(std::to_string(key)));
                    ++served;
                    co_return true;
                }
                auto outcome = answer.outcome;
                if (answer.admission == Admission::kJoin) {
                    co_await answer.joiner->wait(kNoDeadline);
                    outcome = answer.joiner->outcome;
                }
                if (!outcome) continue;
                served += (*outcome)->content == std::to_string(key);
                co_return true;
            }
        };
        std::vector<std::shared_ptr<Started<bool>>> calls;
        for (int key = 0; key < kKeys; ++key) calls.push_back(mine.start(call(key)));
        EXPECT_TRUE(mine.run_until([&] {
            return std::ranges::all_of(calls, [](const auto& each) { return each->ended(); });
        }));
    };
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < kThreads; ++i) threads.emplace_back(serve);
    }
    for (const auto& each : runs) EXPECT_EQ(each, 1);
    EXPECT_EQ(served, kThreads * kKeys);
}

}  // namespace
}  // namespace crab::core
