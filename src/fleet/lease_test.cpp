#include "fleet/lease.hpp"

#include "base/task/test_loop.hpp"

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace crab::fleet {
namespace {

using namespace std::chrono_literals;

struct Table {
    std::map<std::uint16_t, NodeRow> rows;
};

/// The table as one process reaches it.
class TableOfProcess final : public NodeTable {
public:
    explicit TableOfProcess(Table& table) : table_(table) {}
    Result<NodeName> begin(std::uint16_t number, std::uint32_t boot) override {
        if (away) return fail(ErrorCode::kUnavailable, "away");
        NodeRow& row = table_.rows[number];
        row = {.name = {number, row.name.incarnation + 1}, .boot = boot, .beats = row.beats + 1};
        return row.name;
    }
    Result<bool> renew(NodeName self) override {
        if (away) return fail(ErrorCode::kUnavailable, "away");
        NodeRow& row = table_.rows[self.number];
        if (row.name != self || !row.lives()) return false;
        ++row.beats;
        return true;
    }
    Result<std::vector<NodeRow>> read() override {
        if (away) return fail(ErrorCode::kUnavailable, "away");
        std::vector<NodeRow> rows;
        for (const auto& [number, row] : table_.rows) rows.push_back(row);
        return rows;
    }
    Result<bool> fence(NodeName other, std::uint64_t beats) override {
        NodeRow& row = table_.rows[other.number];
        if (row.name != other || !row.lives() || row.beats != beats) return false;
        row.state = NodeState::kFenced;
        return true;
    }
    Result<void> leave(NodeName self) override {
        table_.rows[self.number].state = NodeState::kLeft;
        return {};
    }
    bool away = false;

private:
    Table& table_;
};

/// A process with its lease, under a clock of its own.
struct Process {
    Process(Table& shared, std::uint16_t number) : table(shared) {
        const NodeName name = table.begin(number, number).value();
        lease.emplace(Lease::Uses{.table = table,
                                  .pool = pool,
                                  .clock = loop.clock,
                                  .home = loop.executor(),
                                  .timers = loop.timers,
                                  .of_timers = loop.clock},
                      name, number, loop.clock.steady_now(), [this] { ++fenced; });
        lease->start();
        run();
    }
    ~Process() {
        lease->stop([] {});
        for (int i = 0; i < 10; ++i) run();
    }
    void run() {
        loop.settle();
        while (pool.run_here()) loop.settle();
    }
    void pass(std::chrono::milliseconds time) {
        for (; time > 0ms; time -= 100ms) {
            loop.advance(100ms);
            run();
        }
    }
    /// It stands still, and its clock does not.
    void stand_still(std::chrono::milliseconds time) { loop.clock.advance(time); }
    bool holds() const { return lease->holds(lease->incarnation()); }

    TestLoop loop;
    BlockingPool pool{0};
    TableOfProcess table;
    std::optional<Lease> lease;
    int fenced = 0;
};

struct LeaseTest : testing::Test {
    Table table;
    Process one{table, 1}, two{table, 2};
    void pass(std::chrono::milliseconds time) {
        for (; time > 0ms; time -= 100ms) {
            one.pass(100ms);
            two.pass(100ms);
        }
    }
};

TEST_F(LeaseTest, WhoRenewsHoldsItAndIsNeverFencedOff) {
    pass(120s);
    EXPECT_TRUE(one.holds() && two.holds());
    EXPECT_EQ(one.fenced + two.fenced, 0);
    EXPECT_EQ(one.lease->incarnation(), 1u);
}

TEST_F(LeaseTest, JumpsOfTheWallClockChangeNothing) {
    pass(10s);
    one.loop.clock.set_system_clock(1h);
    two.loop.clock.set_system_clock(-1h);
    pass(30s);
    EXPECT_TRUE(one.holds() && two.holds());
    EXPECT_EQ(one.fenced + two.fenced, 0);
}

TEST_F(LeaseTest, EffectsStopFourSecondsAfterTheLastRenewalBegan) {
    pass(10s);
    two.table.away = true;
    std::chrono::milliseconds held = 0ms;
    for (; two.holds() && held < 10s; held += 100ms) two.pass(100ms);
    EXPECT_LE(held, 4s);
    EXPECT_GE(held, 1s);
}

TEST_F(LeaseTest, WhoStandsStillIsFencedOffAndBeginsAgain) {
    pass(10s);
    one.pass(9s);
    EXPECT_EQ(table.rows[2].state, NodeState::kFenced);
    two.stand_still(9s);
    EXPECT_FALSE(two.holds()) << "before it knows of it";
    two.pass(2s);
    EXPECT_EQ(two.fenced, 1);
    EXPECT_TRUE(two.holds());
    EXPECT_FALSE(two.lease->holds(1)) << "what was recorded before is not sent any more";
    EXPECT_TRUE(two.lease->holds(2));
}

TEST_F(LeaseTest, AFencedNodeIsSilentFiveSecondsAfterTheFenceWasRead) {
    pass(10s);
    one.pass(6s);
    EXPECT_FALSE(one.lease->is_silent({2, 1}));
    std::chrono::milliseconds until = 0ms;
    for (; table.rows[2].state != NodeState::kFenced; until += 100ms) one.pass(100ms);
    EXPECT_LE(until, 4s);
    one.pass(4'900ms);
    EXPECT_FALSE(one.lease->is_silent({2, 1}));
    one.pass(2'200ms);  // it reads every two seconds
    EXPECT_TRUE(one.lease->is_silent({2, 1}));
    EXPECT_FALSE(one.lease->is_silent({2, 2})) << "its next life";
    EXPECT_FALSE(one.lease->is_silent({1, 1})) << "and itself";
    EXPECT_FALSE(one.lease->is_silent({3, 1})) << "and nobody";
}

TEST_F(LeaseTest, AnEarlierLifeOfANodeThatBeganAgainIsSilentToo) {
    pass(10s);
    EXPECT_TRUE(TableOfProcess(table).begin(2, 99));
    one.pass(8s);
    EXPECT_TRUE(one.lease->is_silent({2, 1}));
}

TEST_F(LeaseTest, NobodyIsFencedOffRightAfterTheDatabaseWasAway) {
    pass(10s);
    one.table.away = two.table.away = true;
    pass(30s);
    EXPECT_FALSE(one.holds() || two.holds());
    // The other is a little later to notice that it is back.
    one.table.away = false;
    one.pass(3s);
    two.stand_still(3s);
    two.table.away = false;
    pass(20s);
    EXPECT_EQ(one.fenced + two.fenced, 0);
    EXPECT_TRUE(one.holds() && two.holds());
}

TEST_F(LeaseTest, WhoStoodStillItselfFencesNobodyOffByOldReads) {
    pass(10s);
    one.pass(4s);  // it has read the same beats of the other some times
    two.stand_still(4s);
    one.stand_still(30s);
    two.pass(30s);
    EXPECT_NE(table.rows[2].state, NodeState::kFenced);
    one.pass(2s);
    two.pass(2s);
    EXPECT_NE(table.rows[2].state, NodeState::kFenced);
}

}  // namespace
}  // namespace crab::fleet
