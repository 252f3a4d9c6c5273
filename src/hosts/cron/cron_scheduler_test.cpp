#include "hosts/cron/cron_scheduler.hpp"

#include "base/task/test_loop.hpp"
#include "base/test_clock.hpp"
#include "hosts/cron/cron_occurrences.hpp"
#include "hosts/cron/test_cron_store.hpp"
#include "json/value.hpp"

#include <deque>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::cron {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// A clock on the wall that somebody may set.
class WallClock final : public Clock {
public:
    explicit WallClock(const FakeClock& clock) : clock_(clock) {}
    SteadyTime steady_now() const override { return clock_.steady_now(); }
    SystemTime system_now() const override {
        return clock_.system_now() + std::chrono::nanoseconds(shift_.load());
    }
    void set_forward(std::chrono::nanoseconds by) { shift_ += by.count(); }

private:
    const FakeClock& clock_;
    std::atomic<std::int64_t> shift_{0};
};

/// Takes what it is given, or answers with the errors laid out for it first.
class FakeSink final : public CronEventSink {
public:
    Task<Result<void>> publish(std::string envelope) override {
        if (on_publish) on_publish();
        ++offers;
        if (refuses && refuses(envelope)) co_return fail(ErrorCode::kForbidden, "not allowed");
        if (!errors.empty()) {
            const ErrorCode code = errors.front();
            errors.pop_front();
            co_return fail(code, "said the sink");
        }
        if (away) co_return fail(ErrorCode::kUnavailable, "the sink is away");
        accepted.push_back(std::move(envelope));
        co_return Result<void>{};
    }
    std::function<void()> on_publish;
    std::function<bool(const std::string&)> refuses;
    std::deque<ErrorCode> errors;
    bool away = false;
    int offers = 0;
    std::vector<std::string> accepted;
};

struct CronSchedulerTest : testing::Test {
    TestLoop loop;
    WallClock clock{loop.clock};
    BlockingPool pool{1};
    TimeZones zones;
    CronStoreMemory store;
    FakeSink sink;
    IdSource ids{clock, 7};
    std::unique_ptr<CronScheduler> scheduler;
    const SystemTime begin = clock.system_now();   // 2026-05-28T20:26:40Z
    int created = 0;

    ~CronSchedulerTest() override { stop(); }

    void start(CronPassOptions options = {}) {
        scheduler = std::make_unique<CronScheduler>(CronScheduler::Services{.store = store,
                                                                            .zones = zones,
                                                                            .pool = pool,
                                                                            .clock = clock,
                                                                            .timers = loop.timers,
                                                                            .ids = ids,
                                                                            .sink = sink},
                                                    loop.executor(), std::move(options));
        scheduler->start();
        drain();
    }
    void stop() {
        if (!scheduler) return;
        bool stopped = false;
        scheduler->stop([&] { stopped = true; });
        ASSERT_TRUE(loop.run_until([&] { return stopped; }));
        scheduler.reset();
    }
    /// Runs the loop and the pool until neither has anything to do.
    void drain() {
        for (int i = 0; i < 40; ++i) {
            loop.run(pool.run([] { return true; }));
            loop.settle();
        }
    }
    void advance(std::chrono::nanoseconds by) {
        loop.advance(by);
        drain();
    }
    /// Lets time pass as it does, second by second.
    void pass(std::chrono::seconds time) {
        for (; time > 0s; time -= 1s) {
            loop.advance(1s);
            for (int i = 0; i < 6; ++i) {
                loop.run(pool.run([] { return true; }));
                loop.settle();
            }
        }
        drain();
    }
    CronJob create(std::string schedule, MissedTickPolicy policy = MissedTickPolicy::kSkip,
                   std::string timezone = "UTC", std::string tenant = "acme") {
        CronJob job;
        job.job_id = "job-" + std::to_string(++created);
        job.name = job.job_id;
        job.schedule = std::move(schedule);
        job.timezone = std::move(timezone);
        job.tenant = TenantId(std::move(tenant));
        job.agent_id = "a";
        job.session_id = "s";
        job.missed_ticks = policy;
        job.created_at = job.updated_at = std::chrono::floor<Milliseconds>(clock.system_now());
        const auto zone = zones.find(job.timezone);
        job.next_run_at =
            zone ? SystemTime(*CronOccurrences(CronSchedule::parse(job.schedule).value(), *zone)
                                   .next_after(job.created_at))
                 : job.created_at + 1min;
        store
            .create({.tenant = job.tenant,
                     .principal = "p",
                     .key = job.job_id,
                     .content = "",
                     .operation_id = "o",
                     .at = job.created_at},
                    job, 1000)
            .value();
        if (scheduler) scheduler->wake();
        drain();
        return job;
    }
    /// `job-1 20:27`, with `missed n` if it stands for missed minutes.
    std::vector<std::string> fired() const {
        std::vector<std::string> texts;
        for (const std::string& envelope : sink.accepted) {
            const auto event = json::Value::parse(envelope).value();
            std::string text = *event.resolve("/payload/job_id")->as_string() + " " +
                               event.resolve("/payload/scheduled_for")->as_string()->substr(11, 5);
            if (const auto* missed = event.resolve("/payload/missed_count"))
                text += " missed " + std::to_string(missed->as_int64().value());
            texts.push_back(std::move(text));
        }
        return texts;
    }
};

TEST_F(CronSchedulerTest, AJobFiresInEachMatchingMinuteThatBeginsAfterItsCreation) {
    start();
    create("* * * * *");
    EXPECT_THAT(fired(), IsEmpty()) << "20:26 had begun";
    pass(19s);
    EXPECT_THAT(fired(), IsEmpty());
    pass(1s);
    EXPECT_THAT(fired(), ElementsAre("job-1 20:27"));
    pass(120s);
    EXPECT_THAT(fired(), ElementsAre("job-1 20:27", "job-1 20:28", "job-1 20:29"));
}

TEST_F(CronSchedulerTest, AJobCreatedWhileOthersSleepIsNotForgotten) {
    create("0 0 1 1 *");
    start();
    create("27 * * * *");
    pass(20s);
    EXPECT_THAT(fired(), ElementsAre("job-2 20:27"));
}

TEST_F(CronSchedulerTest, InAFleetAJobFiresThatAnotherNodeHasCreatedAndALittleLater) {
    start({.look_every = 1s, .lag = 150ms});
    auto here = std::move(scheduler);  // is not told
    create("* * * * *");
    scheduler = std::move(here);
    pass(22s);
    EXPECT_THAT(fired(), ElementsAre("job-1 20:27")) << "begun at 20:26:40";
    pass(60s);
    EXPECT_THAT(fired(), ElementsAre("job-1 20:27", "job-1 20:28"));
}

TEST_F(CronSchedulerTest, DisabledJobsDoNotFire) {
    CronJob job;
    job.job_id = "sleeping";
    job.schedule = "* * * * *";
    job.timezone = "UTC";
    job.enabled = false;
    job.next_run_at = begin;
    store
        .create({.tenant = {},
                 .principal = "p",
                 .key = "k",
                 .content = {},
                 .operation_id = "o",
                 .at = begin},
                job, 1000)
        .value();
    start();
    pass(120s);
    EXPECT_THAT(fired(), IsEmpty());
}

TEST_F(CronSchedulerTest, ARestartGoesOnWhereTheLastOneStopped) {
    start();
    create("* * * * *");
    pass(20s);
    stop();
    advance(30s);
    start();
    pass(30s);
    EXPECT_THAT(fired(), ElementsAre("job-1 20:27", "job-1 20:28"));
}

TEST_F(CronSchedulerTest, AfterDowntimeRunOnceSendsOneEventAndSkipNone) {
    create("*/2 * * * *", MissedTickPolicy::kSkip);
    create("*/2 * * * *", MissedTickPolicy::kRunOnce);
    advance(31min + 50s);   // 20:58:30
    advance(61s);           // 20:59:31, and 20:58 is late
    start();
    EXPECT_THAT(fired(), ElementsAre("job-2 20:58 missed 16"));
    pass(60s);
    EXPECT_THAT(fired(), ElementsAre("job-2 20:58 missed 16", "job-1 21:00", "job-2 21:00"));
}

TEST_F(CronSchedulerTest, UpToAMinuteLateIsOnTime) {
    create("27 * * * *");
    advance(80s);   // 20:28:00
    start();
    EXPECT_THAT(fired(), ElementsAre("job-1 20:27"));
}

TEST_F(CronSchedulerTest, AClockThatJumpsForwardMakesMissedMinutes) {
    start();
    create("* * * * *", MissedTickPolicy::kSkip);
    create("* * * * *", MissedTickPolicy::kRunOnce);
    pass(25s);   // 20:27:05
    sink.accepted.clear();
    clock.set_forward(10min);
    pass(1s);
    EXPECT_THAT(fired(), ElementsAre("job-1 20:37", "job-2 20:36 missed 9", "job-2 20:37"));
}

TEST_F(CronSchedulerTest, AClockThatJumpsBackFiresNoMinuteTwice) {
    start();
    create("* * * * *");
    pass(80s);   // 20:28:00
    EXPECT_THAT(fired(), ElementsAre("job-1 20:27", "job-1 20:28"));
    clock.set_forward(-5min);
    pass(5min + 59s);
    EXPECT_THAT(fired(), SizeIs(2)) << "20:23 to 20:28 have been";
    pass(1s);
    EXPECT_THAT(fired(), ElementsAre("job-1 20:27", "job-1 20:28", "job-1 20:29"));
}

TEST_F(CronSchedulerTest, AClockThatWasYearsAheadDoesNotSilenceJobs) {
    start();
    create("* * * * *");
    clock.set_forward(24h * 4000);
    pass(21s);
    sink.accepted.clear();
    clock.set_forward(-24h * 4000);   // 20:27:01
    pass(60s);
    EXPECT_THAT(fired(), ElementsAre("job-1 20:28"));
    clock.set_forward(24h * 4000);
    pass(1s);
    stop();
    sink.accepted.clear();
    clock.set_forward(-24h * 4000);
    start();
    pass(60s);
    EXPECT_THAT(fired(), ElementsAre("job-1 20:29")) << "after a restart as well";
}

TEST_F(CronSchedulerTest, JobsOfMoreThanOneBatchAllFireOnce) {
    for (int i = 0; i < 600; ++i) create("27 20 * * *");   // more than a batch
    start();
    pass(30s);
    EXPECT_THAT(fired(), SizeIs(600));
    pass(180s);
    EXPECT_THAT(fired(), SizeIs(600));
}

TEST_F(CronSchedulerTest, AJobWhoseTimeZoneIsGoneWaitsAndHoldsUpNobody) {
    create("* * * * *", MissedTickPolicy::kSkip, "Europe/Atlantis");
    create("* * * * *");
    start();
    pass(100s);
    EXPECT_THAT(fired(), ElementsAre("job-2 20:27", "job-2 20:28"));
}

TEST_F(CronSchedulerTest, WhileTheStoreFailsNothingIsLost) {
    start();
    create("* * * * *");
    store.set_failing(true);
    pass(40s);   // 20:27:20
    EXPECT_THAT(fired(), IsEmpty());
    store.set_failing(false);
    pass(35s);
    EXPECT_THAT(fired(), ElementsAre("job-1 20:27"));
}

TEST_F(CronSchedulerTest, AnEventIsPublishedUntilItIsAcceptedAlwaysTheSame) {
    start();
    create("27 * * * *");
    std::vector<std::string> seen;
    sink.refuses = [&](const std::string& envelope) {
        seen.push_back(envelope);
        return false;
    };
    sink.errors = {ErrorCode::kUnavailable, ErrorCode::kTimeout, ErrorCode::kRateLimited,
                   ErrorCode::kInternal};
    pass(20s);
    EXPECT_THAT(seen, SizeIs(1));
    pass(1s);
    EXPECT_THAT(seen, SizeIs(2)) << "a second later";
    pass(2s + 4s + 8s);
    ASSERT_THAT(seen, SizeIs(5)) << "2, 4 and 8 s later";
    EXPECT_THAT(fired(), SizeIs(1));
    for (const std::string& envelope : seen) EXPECT_EQ(envelope, seen.front());
    pass(120s);
    EXPECT_THAT(seen, SizeIs(5));
}

TEST_F(CronSchedulerTest, UnpublishedEventsSurviveARestartInOrder) {
    sink.away = true;
    start();
    create("* * * * *");
    pass(150s);
    stop();
    sink.away = false;
    start();
    EXPECT_THAT(fired(), ElementsAre("job-1 20:27", "job-1 20:28", "job-1 20:29"));
}

TEST_F(CronSchedulerTest, AConflictMeansThatTheSinkKnowsThisFiring) {
    start();
    create("27 * * * *");
    sink.errors = {ErrorCode::kConflict};
    pass(200s);
    EXPECT_EQ(sink.offers, 1);
}

TEST_F(CronSchedulerTest, AnEventThatIsRefusedWaitsAloneAndItsJobStopsFiring) {
    sink.refuses = [](const std::string& envelope) {
        return envelope.find("job-1") != std::string::npos;
    };
    start();
    create("* * * * *");
    create("*/30 * * * *");
    pass(4min);
    EXPECT_THAT(fired(), ElementsAre("job-2 20:30"));
    pass(100min);
    EXPECT_EQ(store.due(clock.system_now() + 24h, 10).value().front().unpublished,
              CronPassOptions{}.most_unpublished);
}

TEST_F(CronSchedulerTest, AStoppedSchedulerFiresNoMore) {
    start();
    create("* * * * *");
    sink.on_publish = [&] { scheduler->stop([] {}); };
    pass(200s);
    EXPECT_LE(sink.offers, 1);
    sink.on_publish = nullptr;
}

}  // namespace
}  // namespace crab::cron
