#include "core/live/call_feed.hpp"

#include "base/task/test_loop.hpp"
#include "core/audit/audit_log.hpp"
#include "core/call/test_tools.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

std::string ended(std::string_view id, std::string_view status = "ok", int us = 500,
                  std::string_view tool = "disk_usage", std::string_view who = "caller/ci") {
    return fmt::format(
        R"({{"call_id":"{}","time":"2026-09-21T14:13:20.000Z","front":"rtp","principal":"{}",)"
        R"("tool":"{}","source":"device/laptop","status":"{}","duration_us":{},)"
        R"("timeline":{{"authorized":10,"hooked":20,"dispatched":100,"answered":400}}}})",
        id, who, tool, status, us);
}

AuditBatch batch_of(const std::vector<std::string>& records) {
    AuditBatch batch{.first = {}, .last = {}, .count = 0, .records = {}};
    for (const std::string& record : records) {
        if (batch.count++ > 0) batch.records += '\n';
        batch.records += record;
    }
    return batch;
}

struct CallFeedTest : testing::Test {
    TestLoop loop;
    CallFeed feed{loop.clock};

    std::shared_ptr<CallWatch> watch(std::string_view filter = {}, std::size_t rate = 20) {
        auto parsed = CallFilter::parse(filter, loop.clock.system_now());
        EXPECT_TRUE(parsed) << filter;
        auto added = std::make_shared<CallWatch>(*parsed, rate, loop.clock.steady_now());
        feed.add(added);
        return added;
    }
    void end_calls(std::size_t count, std::string_view status = "ok") {
        std::vector<std::string> records;
        for (std::size_t i = 0; i < count; ++i)
            records.push_back(ended(fmt::format("{}{}", status, i), status));
        feed.on_batch(batch_of(records));
    }
};

TEST_F(CallFeedTest, OnlyCallsThatHaveEndedAreCounted) {
    const auto all = watch();
    feed.on_batch(batch_of({ended("c1"), R"({"event":"lease.granted","duration_us":5})",
                            R"({"call_id":"c2","tool":"t","status":"dispatching"})",
                            ended("c3", "timeout"), "no JSON"}));
    const auto taken = all->take();
    EXPECT_EQ(taken.total, 2u);
    EXPECT_EQ(taken.by_status[static_cast<std::size_t>(Status::kTimeout)], 1u);
    EXPECT_EQ(taken.rows, (std::vector{ended("c1"), ended("c3", "timeout")}));
    EXPECT_EQ(taken.left_out, 0u);
    EXPECT_EQ(all->take().total, 0u);
}

TEST_F(CallFeedTest, WhatTheLogDoesNotRecordIsCountedApart) {
    const auto observed = std::make_shared<CallFeed>(loop.clock);
    const auto sees = std::make_shared<CallWatch>(CallFilter(), 20, loop.clock.steady_now());
    observed->add(sees);
    BlockingPool pool{1};
    const auto store = std::make_shared<AuditStoreMemory>();
    AuditLog log(store, pool, loop.clock, {.max_backlog_records = 80});
    log.show_to(observed);
    store->set_failing(true);  // what the store refuses has ended all the same
    for (int i = 0; i < 150; ++i)
        log.append_call("caller/ci", [](std::string& out) { out += ended("c"); });
    log.flush_and_wait();
    pool.settle();
    EXPECT_EQ(log.lost(), 150u);
    EXPECT_EQ(log.unrecorded_calls(), 50u);
    EXPECT_EQ(sees->take().total, 100u) << "with the unrecorded ones that is all";
}

TEST_F(CallFeedTest, FailuresAreRowsBeforeOthersAndAllOfThemBelowTenASecond) {
    const auto all = watch({}, 4);
    std::size_t failures = 0;
    for (int tick = 0; tick < 80; ++tick) {
        end_calls(100);
        if (tick % 20 == 0) end_calls(45, "error");  // nine a second, in one go
        const auto taken = all->take();
        EXPECT_EQ(taken.left_out, taken.total - taken.rows.size());
        EXPECT_EQ(taken.rows.size(), tick % 20 == 0 ? 45u : 1u);
        for (const std::string& row : taken.rows)
            failures += row.find(R"("status":"error")") != std::string::npos ? 1 : 0;
        loop.advance(250ms);
    }
    EXPECT_EQ(failures, 4u * 45u);
}

TEST_F(CallFeedTest, RowsAreBoundedHoweverSeldomTheyAreTaken) {
    const auto all = watch({}, 200);
    for (int i = 0; i < 50; ++i) {
        end_calls(500, "error");
        end_calls(500);
        loop.advance(1ms);
    }
    const auto taken = all->take();
    EXPECT_EQ(taken.total, 50'000u);
    EXPECT_LE(taken.rows.size(), 1'050u);
    EXPECT_GE(taken.rows.size(), 1'000u) << "five seconds of them";
    EXPECT_EQ(taken.left_out, taken.total - taken.rows.size());
}

TEST_F(CallFeedTest, ASampleGivesEachCallTheSameChance) {
    const auto all = watch({}, 40);
    std::array<int, 10> tenths{};
    for (int round = 0; round < 400; ++round) {
        end_calls(100);
        for (const std::string& row : all->take().rows) {
            const std::size_t at = row.find(R"("ok)") + 3;
            const int number = std::stoi(row.substr(at));
            ++tenths[static_cast<std::size_t>(number / 10)];
        }
    }
    for (const int count : tenths) EXPECT_NEAR(count, 400, 90);
}

TEST_F(CallFeedTest, AFilterHoldsBeforeTheSample) {
    const auto slow = watch("min:1s tool:sms*", 20);
    const auto counts = watch({}, 0);
    std::vector<std::string> records;
    for (int i = 0; i < 1'000; ++i) records.push_back(ended("fast", "ok", 100));
    records.push_back(ended("slow", "ok", 2'000'000, "sms.send"));
    feed.on_batch(batch_of(records));
    const auto taken = slow->take();
    EXPECT_EQ(taken.rows, std::vector{records.back()});
    EXPECT_EQ(taken.total, 1u);
    EXPECT_NEAR(static_cast<double>(taken.p99_us), 2e6, 5e5);
    EXPECT_TRUE(counts->take().rows.empty());
}

TEST_F(CallFeedTest, WithoutAWatcherAShareIsReadAndStandsForAll) {
    for (int second = 0; second < 4; ++second) {
        for (int i = 0; i < 10; ++i) end_calls(2'000);
        loop.advance(1s);
    }
    const auto rows = feed.rows(CallStats::By::kTool, 60);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_NEAR(static_cast<double>(rows[0].totals.calls), 80'000, 2'000);
    std::string metrics;
    feed.append_metrics(metrics);
    EXPECT_NE(metrics.find(R"(crab_call_stage_seconds_bucket{stage="answered",le="0.0005"} )"),
              std::string::npos);
}

TEST_F(CallFeedTest, AWatcherThatIsGoneCostsNothing) {
    watch();
    end_calls(3);
    const auto other = watch();
    end_calls(2);
    EXPECT_EQ(other->take().total, 2u);
}

TEST_F(CallFeedTest, StatisticsAreByKeyOverMinutes) {
    feed.on_batch(batch_of({ended("a", "error", 400, "t1", "caller/a"),
                            ended("b", "ok", 9'000, "t1"), ended("c", "ok", 500, "t2")}));
    loop.advance(5min);
    feed.on_batch(batch_of({ended("d", "ok", 500, "t2"), ended("e", "ok", 700, "t2")}));
    auto rows = feed.rows(CallStats::By::kTool, 60);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].key, "t2");
    EXPECT_EQ(rows[0].totals.calls, 3u);
    EXPECT_EQ(rows[1].totals.errors, 1u);
    EXPECT_EQ(rows[1].totals.slowest, "b");
    EXPECT_EQ(rows[1].totals.stage_us[static_cast<std::size_t>(Stage::kAnswered)], 600);
    EXPECT_EQ(rows[1].totals.stage_us[static_cast<std::size_t>(Stage::kFinished)], 8'600);
    EXPECT_EQ(feed.rows(CallStats::By::kPrincipal, 60).size(), 2u);
    rows = feed.rows(CallStats::By::kTool, 5);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].totals.calls, 2u);
    std::vector<std::pair<std::int64_t, std::uint64_t>> minutes;
    feed.for_minutes(60, [&](std::int64_t ago, const CallStats::Totals& totals) {
        minutes.emplace_back(ago, totals.calls);
    });
    EXPECT_EQ(minutes, (std::vector<std::pair<std::int64_t, std::uint64_t>>{{5, 3}, {0, 2}}));
    loop.advance(60min);
    EXPECT_TRUE(feed.rows(CallStats::By::kTool, 60).empty());
}

TEST_F(CallFeedTest, KeysBeyondTheirNumberAreOthers) {
    for (int i = 0; i < 600; ++i)
        feed.on_batch(batch_of({ended("c", "ok", 500, fmt::format("tool{}", i))}));
    auto rows = feed.rows(CallStats::By::kTool, 60);
    ASSERT_EQ(rows.size(), CallStats::kMostKeys + 1);
    EXPECT_EQ(rows[0].key, "other");
    EXPECT_EQ(rows[0].totals.calls, 600 - CallStats::kMostKeys);
    loop.advance(61min);
    feed.on_batch(batch_of({ended("c", "ok", 500, "new")}));
    rows = feed.rows(CallStats::By::kTool, 60);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].key, "new") << "keys without calls leave their places";
}

struct CallExemplarsTest : CallFeedTest {
    const std::string good = std::string(32, 'a'), bad = std::string(32, 'b');
    std::size_t asked = 0;
    CallFeed traced{loop.clock, [this](const FinishedCall&, std::string_view trace_id) {
                        ++asked;
                        return trace_id == good;
                    }};

    void end_call(std::string_view trace_id, int us = 300) {
        std::string record = ended("c", "ok", us);
        record.replace(record.find("\"front\""), 0, fmt::format(R"("trace_id":"{}",)", trace_id));
        traced.on_batch(batch_of({record}));
    }
    std::optional<Exemplar> exemplar(std::size_t bucket) const {
        return traced.exemplars()[static_cast<std::size_t>(SourceKind::kDevice)][bucket];
    }
};

TEST_F(CallExemplarsTest, ABucketShowsTheLatestCallWhoseTraceIsKept) {
    end_call(bad);
    EXPECT_FALSE(exemplar(2));
    loop.advance(10ms);
    end_call(good);
    ASSERT_TRUE(exemplar(2));
    EXPECT_EQ(exemplar(2)->trace_id, good);
    EXPECT_DOUBLE_EQ(exemplar(2)->seconds, 0.0003);
    EXPECT_FALSE(exemplar(1));
    end_call(good, 400);
    EXPECT_DOUBLE_EQ(exemplar(2)->seconds, 0.0003) << "one a second";
    loop.advance(1s);
    end_call(good, 400);
    EXPECT_DOUBLE_EQ(exemplar(2)->seconds, 0.0004);
    end_call(good, 200'000'000);
    EXPECT_TRUE(exemplar(CallMetrics::kBounds.size())) << "beyond the last bound";
}

TEST_F(CallExemplarsTest, ManyCallsThatAreNotTracedAreNotAllLookedAt) {
    for (int i = 0; i < 1'000; ++i) {
        end_call(bad);
        loop.advance(1ms);
    }
    EXPECT_LE(asked, 101u);
    EXPECT_GE(asked, 90u);
}

struct ToolMetricsTest : CallFeedTest {
    std::string page() const {
        std::string text;
        feed.append_metrics(text);
        return text;
    }
    bool shows(std::string_view row) const { return page().contains(row); }
};

TEST_F(ToolMetricsTest, WantedToolsAreCountedByNameAndTheRestTogether) {
    feed.want_by_name({Glob("disk_*")});
    feed.on_batch(batch_of({ended("a"), ended("b", "error"), ended("c", "ok", 500, "lamp"),
                            R"({"call_id":"d","tool":"disk_made_up","status":"error",)"
                            R"("duration_us":1})"}));
    for (const char* row : {"crab_tool_calls_total{tool=\"disk_usage\",status=\"ok\"} 1\n",
                            "crab_tool_calls_total{tool=\"disk_usage\",status=\"error\"} 1\n",
                            "crab_tool_calls_total{tool=\"other\",status=\"ok\"} 1\n",
                            "crab_tool_calls_total{tool=\"other\",status=\"error\"} 1\n",
                            "crab_tool_call_duration_seconds_count{tool=\"disk_usage\"} 2\n"})
        EXPECT_TRUE(shows(row)) << row << page();
    EXPECT_FALSE(shows("disk_made_up")) << "nobody offers it";
    feed.want_by_name({Glob("lamp")});
    EXPECT_FALSE(shows("disk_usage"));
    feed.want_by_name({});
    EXPECT_FALSE(shows("crab_tool_"));
}

TEST_F(ToolMetricsTest, NamesBeyondTheirNumberAreOthersAndLabelsAreEscaped) {
    feed.want_by_name({Glob("*")});
    feed.on_batch(batch_of({ended("a", "ok", 500, R"(a\"b\\c)")}));
    for (std::size_t i = 0; i < ToolMetrics::kMost; ++i)
        feed.on_batch(batch_of({ended("c", "ok", 500, fmt::format("tool{}", i))}));
    EXPECT_TRUE(shows(R"(crab_tool_calls_total{tool="a\"b\\c",status="ok"} 1)"));
    EXPECT_TRUE(shows(R"(crab_tool_calls_total{tool="other",status="ok"} 1)"));
    EXPECT_TRUE(shows(R"(crab_tool_calls_total{tool="tool198",status="ok"} 1)"));
    EXPECT_FALSE(shows("tool199"));
}

TEST_F(ToolMetricsTest, AToolThatIsCalledOtherIsWithTheOthersInOneRow) {
    feed.want_by_name({Glob("*")});
    feed.on_batch(batch_of({ended("a", "ok", 500, "other"),
                            R"({"call_id":"d","tool":"made_up","status":"ok","duration_us":1})"}));
    EXPECT_TRUE(shows("crab_tool_calls_total{tool=\"other\",status=\"ok\"} 2\n"));
}

TEST(LatencySketch, PercentilesAreOffByAQuarterAtMost) {
    LatencySketch sketch;
    for (std::int64_t us = 1; us <= 100'000; ++us) sketch.add(us);
    for (const double part : {0.01, 0.5, 0.95, 0.99}) {
        const double exact = part * 100'000;
        EXPECT_NEAR(static_cast<double>(sketch.percentile(part)), exact, exact / 10) << part;
    }
    LatencySketch merged;
    merged.add(sketch);
    EXPECT_EQ(merged.percentile(0.95), sketch.percentile(0.95));
    EXPECT_EQ(LatencySketch().percentile(0.5), 0);
    sketch.add(std::int64_t{1} << 60);
    EXPECT_EQ(sketch.count(), 100'001u);
}

}  // namespace
}  // namespace crab::core
