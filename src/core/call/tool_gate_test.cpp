#include "core/call/tool_gate.hpp"

#include "base/task/test_loop.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

struct ToolGateTest : testing::Test {
    TestLoop loop;
    std::shared_ptr<ToolGate> gate = std::make_shared<ToolGate>(2, 3);

    auto enter(Deadline deadline = kNoDeadline) {
        return loop.start(gate->enter(loop.timers, deadline));
    }
};

TEST_F(ToolGateTest, AsManyAsTheLimitEnterAtOnceAndTheRestWait) {
    const auto one = enter(), two = enter(), three = enter();
    EXPECT_TRUE(one->get());
    EXPECT_TRUE(two->get());
    EXPECT_FALSE(three->ended());
    EXPECT_EQ(gate->running(), 2u);
    EXPECT_EQ(gate->waiting(), 1u);
    EXPECT_FALSE(gate->try_enter());
    loop.cancel(*three);
}

TEST_F(ToolGateTest, AReturnedPermitGoesToTheFirstInLine) {
    const auto one = enter(), two = enter(), three = enter(), four = enter();
    one->get().value() = ToolGate::Permit();
    loop.settle();
    EXPECT_TRUE(three->ended());
    EXPECT_FALSE(four->ended());
    EXPECT_EQ(gate->running(), 2u);
    three->result.reset();
    loop.settle();
    EXPECT_TRUE(four->ended());
}

TEST_F(ToolGateTest, NobodyOvertakesTheLine) {
    const auto one = enter(), two = enter(), three = enter();
    one->result.reset();  // the place is promised to three, who has not been resumed yet
    EXPECT_FALSE(gate->try_enter());
    loop.settle();
    EXPECT_TRUE(three->get());
}

TEST_F(ToolGateTest, AFullLineRefusesAtOnceWithATimeToComeBack) {
    std::vector<std::shared_ptr<Started<Result<ToolGate::Permit>>>> all;
    for (int i = 0; i < 6; ++i) all.push_back(enter());
    ASSERT_TRUE(all.back()->ended());
    const auto& refused = all.back()->get();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kRateLimited);
    EXPECT_TRUE(refused.error().retry_after);
    EXPECT_TRUE(refused.error().may_retry());
    EXPECT_EQ(gate->waiting(), 3u);
    for (const auto& each : all) each->result.reset();
    loop.settle();
    for (const auto& each : all) each->result.reset();
    loop.settle();
    for (const auto& each : all) each->result.reset();
    EXPECT_EQ(gate->running(), 0u);
}

TEST_F(ToolGateTest, ThePassedDeadlineLeavesTheLine) {
    const auto one = enter(), two = enter(), late = enter(loop.in(1s)), patient = enter();
    loop.advance(1s + TimerWheel::kTick);
    ASSERT_TRUE(late->ended());
    EXPECT_EQ(late->get().error().code, ErrorCode::kRateLimited);
    EXPECT_EQ(gate->waiting(), 1u);
    one->result.reset();
    loop.settle();
    EXPECT_TRUE(patient->get());
}

TEST_F(ToolGateTest, CancellationLeavesTheLine) {
    const auto one = enter(), two = enter(), gone = enter(), patient = enter();
    loop.cancel(*gone);
    EXPECT_EQ(gone->get().error().code, ErrorCode::kCancelled);
    one->result.reset();
    loop.settle();
    EXPECT_TRUE(patient->get());
}

TEST_F(ToolGateTest, APlaceThatIsGrantedToSomebodyWhoGivesUpPassesOn) {
    const auto one = enter(), two = enter(), gone = enter(), patient = enter();
    asio::post(loop.io, [&] {
        one->result.reset();  // granted, the wake is on its way
        gone->signal.emit();  // and comes too late
    });
    loop.settle();
    EXPECT_EQ(gone->get().error().code, ErrorCode::kCancelled);
    EXPECT_TRUE(patient->get());
    EXPECT_EQ(gate->running(), 2u);
}

TEST_F(ToolGateTest, MovingAPermitMovesTheRight) {
    auto permit = gate->try_enter().value();
    ToolGate::Permit other = std::move(permit);
    EXPECT_EQ(gate->running(), 1u);
    other = gate->try_enter().value();
    EXPECT_EQ(gate->running(), 1u);
    other = ToolGate::Permit();
    EXPECT_EQ(gate->running(), 0u);
}

TEST_F(ToolGateTest, AGateBeforeAnotherNeedsAPlaceAtBothAndGivesBothBack) {
    const auto narrow = std::make_shared<ToolGate>(1, 3, gate);
    const auto enter_narrow = [&] { return loop.start(narrow->enter(loop.timers, kNoDeadline)); };
    const auto one = enter_narrow(), two = enter_narrow();
    EXPECT_TRUE(one->get());
    EXPECT_FALSE(two->ended()) << "there is room at the outer gate only";
    const auto other = enter();
    EXPECT_TRUE(other->get());
    one->result.reset();
    loop.settle();
    EXPECT_TRUE(two->get());
    EXPECT_EQ(gate->running(), 2u);
    EXPECT_FALSE(enter()->ended()) << "now the outer one is full";
    two->result.reset();
    other->result.reset();
    loop.settle();
    EXPECT_EQ(gate->running(), 0u);
    EXPECT_EQ(narrow->running(), 0u);
}

TEST_F(ToolGateTest, TheOuterGatesQueueBoundsAllLines) {
    const auto narrow = std::make_shared<ToolGate>(1, 3, gate),
               other = std::make_shared<ToolGate>(1, 3, gate);
    std::vector<std::shared_ptr<Started<Result<ToolGate::Permit>>>> waiting;
    for (const auto& each : {narrow, other, narrow, other, narrow})
        waiting.push_back(loop.start(each->enter(loop.timers, kNoDeadline)));
    EXPECT_FALSE(waiting.back()->ended());
    const auto refused = loop.start(other->enter(loop.timers, kNoDeadline));
    ASSERT_TRUE(refused->ended());
    EXPECT_EQ(refused->get().error().code, ErrorCode::kRateLimited);
}

TEST_F(ToolGateTest, AGateBeforeAnotherKeepsTheBoundOfItsOwnQueue) {
    const auto narrow = std::make_shared<ToolGate>(1, 1, std::make_shared<ToolGate>(2, 100));
    const auto inside = loop.start(narrow->enter(loop.timers, kNoDeadline)),
               waiting = loop.start(narrow->enter(loop.timers, kNoDeadline));
    const auto refused = loop.start(narrow->enter(loop.timers, kNoDeadline));
    EXPECT_TRUE(inside->ended() && !waiting->ended());
    ASSERT_TRUE(refused->ended());
    EXPECT_EQ(refused->get().error().code, ErrorCode::kRateLimited);
}

TEST(ToolGate, CallsOfManyLoopsNeverExceedTheLimit) {
    constexpr int kThreads = 3, kCalls = 60, kRounds = 20;
    auto gate = std::make_shared<ToolGate>(4, 1000);
    std::atomic<int> inside = 0, most = 0, done = 0;
    const auto serve = [&] {
        TestLoop loop;
        const auto call = [&](std::shared_ptr<ToolGate> gate) -> Task<bool> {
            for (int round = 0; round < kRounds; ++round) {
                auto permit = co_await gate->enter(loop.timers, kNoDeadline);
                if (!permit) co_return false;
                const int now = ++inside;
                for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {}
                co_await yield_to_loop();
                --inside;
                ++done;
            }
            co_return true;
        };
        std::vector<std::shared_ptr<Started<bool>>> calls;
        for (int i = 0; i < kCalls; ++i) calls.push_back(loop.start(call(gate)));
        EXPECT_TRUE(loop.run_until([&] {
            return std::ranges::all_of(calls, [](const auto& each) { return each->ended(); });
        }));
        for (const auto& each : calls) EXPECT_TRUE(each->get());
    };
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < kThreads; ++i) threads.emplace_back(serve);
    }
    EXPECT_EQ(done, kThreads * kCalls * kRounds);
    EXPECT_LE(most, 4);
    EXPECT_EQ(gate->running(), 0u);
    EXPECT_EQ(gate->waiting(), 0u);
}

}  // namespace
}  // namespace crab::core
