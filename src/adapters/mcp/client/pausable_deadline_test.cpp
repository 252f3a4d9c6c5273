#include "adapters/mcp/client/pausable_deadline.hpp"

#include "base/task/test_loop.hpp"
#include "base/task/waiter.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace crab::mcp {
namespace {

using namespace std::chrono_literals;

class McpPausableDeadline : public testing::Test {
protected:
    Task<void> work() {
        Waiter waiter(loop.timers);
        end = co_await waiter.wait(loop.in(1h));
    }

    TestLoop loop;
    PausableDeadline limit{loop.timers, loop.clock, loop.in(10s)};
    std::optional<WaitEnd> end;
};

TEST_F(McpPausableDeadline, WorkIsCancelledAtTheDeadline) {
    const auto kept = loop.start(limit.keep(work()));
    loop.advance(9s);
    EXPECT_FALSE(kept->ended());
    loop.advance(2s);
    EXPECT_TRUE(kept->ended());
    EXPECT_EQ(end, WaitEnd::kCancelled);
}

TEST_F(McpPausableDeadline, ItStandsStillWhileAnyQuestionIsOpen) {
    const auto kept = loop.start(limit.keep(work()));
    loop.advance(4s);
    limit.pause();
    loop.advance(30s);
    limit.pause();
    limit.go_on();
    loop.advance(30s);
    EXPECT_FALSE(kept->ended());
    limit.go_on();
    loop.advance(5s);
    EXPECT_FALSE(kept->ended()) << "six seconds were left";
    loop.advance(2s);
    EXPECT_TRUE(kept->ended());
    limit.pause();  // an answer that is late does no harm
    limit.go_on();
    loop.advance(1h);
}

TEST_F(McpPausableDeadline, ItCanOnlyBeBroughtForward) {
    const auto kept = loop.start(limit.keep(work()));
    limit.end_by(loop.in(1h));
    limit.end_by(loop.in(3s));
    loop.advance(2s);
    EXPECT_FALSE(kept->ended());
    loop.advance(2s);
    EXPECT_TRUE(kept->ended());
    limit.end_by(loop.in(1s));  // too late, and harmless
    loop.advance(1h);
}

TEST_F(McpPausableDeadline, ACancellationOfTheCallerIsPassedOn) {
    const auto kept = loop.start(limit.keep(work()));
    loop.cancel(*kept);
    EXPECT_TRUE(kept->ended());
    EXPECT_EQ(end, WaitEnd::kCancelled);
    const auto throwing = []() -> Task<void> {
        throw std::runtime_error("broken");
        co_return;
    };
    PausableDeadline other(loop.timers, loop.clock, kNoDeadline);
    const auto broken = loop.start(other.keep(throwing()));
    EXPECT_THROW(broken->get(), std::runtime_error);
}

}  // namespace
}  // namespace crab::mcp
