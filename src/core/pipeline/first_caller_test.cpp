#include "core/pipeline/first_caller.hpp"

#include "base/task/test_loop.hpp"
#include "core/call/test_tools.hpp"
#include "core/call/tool_host.hpp"
#include "core/pipeline/pipeline.hpp"

#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

/// Works on each call until it is told to answer; notes how many there were, and how each wait
/// ended.
struct SlowHost final : ToolHost {
    explicit SlowHost(TimerWheel& timers) : timers(timers) {}
    Task<Outcome> run(AdmittedCall call, FrameSink&) override {
        ++runs;
        Waiter waiter(timers);
        working = &waiter;
        const WaitEnd end = co_await waiter.wait(call.deadline());
        working = nullptr;
        ends.push_back(end);
        if (end == WaitEnd::kWoken) co_return ToolResult{.content = "done"};
        co_return fail(end == WaitEnd::kCancelled ? ErrorCode::kCancelled : ErrorCode::kTimeout,
                       "by the host");
    }
    TimerWheel& timers;
    Waiter* working = nullptr;
    int runs = 0;
    std::vector<WaitEnd> ends;
};

/// A caller at a front that can answer before the call has ended.
struct Caller {
    Call call;
    FrameSink sink;
    PrincipalRef principal = principal_of("caller/ann");
    bool told_in_time = false;
    std::shared_ptr<Started<CallEnd>> running = std::make_shared<Started<CallEnd>>();

    std::string answer() {
        if (told_in_time) return "TIMEOUT";
        if (!running->ended()) return "none";
        const Outcome& outcome = *running->get().outcome;
        return outcome ? outcome->content : std::string(token_of(outcome.error().code));
    }
};

struct FirstCallerTest : testing::Test {
    TestLoop loop;
    BlockingPool pool{1};
    IdSource ids{loop.clock, 1};
    Registry registry;
    Published<CallRules> rules{std::make_shared<const CallRules>(
        CallRules{.policy = policy_of(),
                  .hooks = {},
                  .rates = std::make_shared<RateLimits>(std::vector<RateRule>{})})};
    Ledger ledger{loop.clock, {}};
    EarlyCancels early_cancels;
    AuditLog audit{std::make_shared<AuditStoreMemory>(), pool, loop.clock};
    std::shared_ptr<SlowHost> host = std::make_shared<SlowHost>(loop.timers);
    Pipeline pipeline{CallServices{.clock = loop.clock,
                                   .registry = registry,
                                   .rules = rules,
                                   .ledger = ledger,
                                   .early_cancels = early_cancels,
                                   .audit = audit},
                      loop.executor(), loop.timers, ids};

    FirstCallerTest() {
        ToolSpec spec;
        spec.default_timeout = 10s;
        auto tool = tool_of("slow", "", ConnectionId{1}, {}, spec);
        tool->host = host;
        registry.change(ConnectionId{1}, std::array<ToolRef, 1>{tool}, {});
    }

    /// A call under an id of many, so that the first runs and the others join it.
    std::unique_ptr<Caller> made(std::optional<Milliseconds> patience, std::string_view id = "c1") {
        auto caller = std::make_unique<Caller>();
        caller->call.id = id;
        caller->call.tool = "slow";
        if (patience) caller->call.caller_deadline = loop.in(*patience);
        caller->call.on_overtime = [at = caller.get()] { at->told_in_time = true; };
        return caller;
    }
    void begin(Caller& caller) {
        auto ended = [running = caller.running](std::exception_ptr failure,
                                                std::optional<CallEnd> end) {
            running->failure = std::move(failure);
            running->result = std::move(end);
        };
        spawn(loop.executor(),
              pipeline.run(AuthenticatedCall(caller.call, caller.principal), caller.sink),
              std::move(ended), &caller.running->signal);
    }
    std::unique_ptr<Caller> start(std::optional<Milliseconds> patience,
                                  std::string_view id = "c1") {
        auto caller = made(patience, id);
        begin(*caller);
        loop.settle();
        return caller;
    }
    /// What a front does when its connection breaks.
    void drop(Caller& caller) {
        asio::post(loop.io, [&] {
            if (!Pipeline::goes_on_for_others(caller.call)) caller.running->signal.emit();
        });
        loop.settle();
    }
    void host_answers() {
        ASSERT_NE(host->working, nullptr);
        asio::post(loop.io, [&] { host->working->wake(); });
        loop.settle();
    }
};

TEST_F(FirstCallerTest, WhoJoinsWithMoreTimeGetsTheAnswerAndTheFirstRunsOutOfItAlone) {
    const auto first = start(1s);
    const auto other = start(5s);
    loop.advance(1s);
    EXPECT_EQ(first->answer(), "TIMEOUT");
    EXPECT_EQ(other->answer(), "none");
    loop.advance(2s);
    host_answers();
    EXPECT_EQ(other->answer(), "done");
    EXPECT_TRUE(other->running->get().replayed);
    EXPECT_EQ(host->runs, 1);
    EXPECT_EQ(start(1s)->answer(), "done") << "and it is kept";
}

TEST_F(FirstCallerTest, ACallForWhichNobodyElseWaitsIsCancelledAtItsCallersDeadline) {
    const auto first = start(1s);
    loop.advance(1s);
    EXPECT_FALSE(first->told_in_time);
    EXPECT_EQ(first->answer(), "TIMEOUT");
    EXPECT_EQ(host->ends, std::vector{WaitEnd::kCancelled});
    EXPECT_EQ(start(1s)->answer(), "OUTCOME_UNKNOWN") << "nobody waited for its end";
}

TEST_F(FirstCallerTest, TheCallEndsWhenTheDeadlineOfTheLastWhoWaitsPasses) {
    const auto first = start(1s);
    const auto second = start(2s);
    const auto third = start(3s);
    loop.advance(2s);
    EXPECT_EQ(first->answer(), "TIMEOUT");
    EXPECT_EQ(second->answer(), "TIMEOUT");
    EXPECT_TRUE(host->ends.empty());
    loop.advance(1s);
    EXPECT_EQ(third->answer(), "TIMEOUT");
    EXPECT_EQ(host->ends, std::vector{WaitEnd::kCancelled});
}

TEST_F(FirstCallerTest, ALimitOfTheCallItselfHoldsForAllWhoWait) {
    const auto first = start(1s);
    const auto other = start(std::nullopt);
    loop.advance(10s);
    EXPECT_EQ(first->answer(), "TIMEOUT");
    EXPECT_EQ(other->answer(), "TIMEOUT");
    EXPECT_EQ(host->ends, std::vector{WaitEnd::kExpired});
    EXPECT_EQ(host->runs, 1);
}

TEST_F(FirstCallerTest, WhoLeavesLeavesTheCallToTheOthersAndTheLastOneEndsIt) {
    for (const bool first_leaves_first : {true, false}) {
        const std::string id = first_leaves_first ? "c1" : "c2";
        const auto first = start(std::nullopt, id);
        const auto other = start(std::nullopt, id);
        drop(first_leaves_first ? *first : *other);
        EXPECT_TRUE(host->ends.empty());
        drop(first_leaves_first ? *other : *first);
        EXPECT_EQ(host->ends, std::vector{WaitEnd::kCancelled});
        EXPECT_EQ(start(std::nullopt, id)->answer(), "OUTCOME_UNKNOWN");
        host->ends.clear();
    }
}

TEST_F(FirstCallerTest, WhoJoinsWhileTheLastOneLeavesKeepsTheCall) {
    const auto first = start(std::nullopt);
    const auto last = start(std::nullopt);
    const auto late = made(std::nullopt);
    drop(*first);
    asio::post(loop.io, [&] {
        last->running->signal.emit();
        begin(*late);  // before the news of the other's leaving are looked at, in a later turn
    });
    loop.settle();
    EXPECT_EQ(last->answer(), "CANCELLED");
    host_answers();
    EXPECT_EQ(late->answer(), "done");
    EXPECT_EQ(host->runs, 1);
}

TEST_F(FirstCallerTest, ADeadlineThatPassesWhileTheHostAnswersTakesNothingAway) {
    const auto first = start(1s);
    loop.clock.advance(2s);  // nobody has looked at the clock yet
    host_answers();
    EXPECT_EQ(first->answer(), "done");
    loop.advance(1s);
    EXPECT_FALSE(first->told_in_time);
}

}  // namespace
}  // namespace crab::core
