#include "store/sqlite/cron_store_sqlite.hpp"

#include "base/process/test_folder.hpp"
#include "base/task/test_loop.hpp"
#include "base/test_clock.hpp"
#include "hosts/cron/cron_occurrences.hpp"
#include "hosts/cron/cron_scheduler.hpp"
#include "hosts/cron/test_cron_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

namespace crab::store::sqlite {
namespace {

using namespace std::chrono_literals;
using cron::CronFiring;
using cron::CronJob;
using cron::CronRequest;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

enum class Kind { kMemory, kSqlite };

void PrintTo(Kind kind, std::ostream* out) {
    *out << (kind == Kind::kMemory ? "memory" : "SQLite");
}

/// Both implementations keep the same promises.
class CronStoreTest : public testing::TestWithParam<Kind> {
protected:
    CronStoreTest() {
        switch (GetParam()) {
            case Kind::kMemory: store = std::make_unique<cron::CronStoreMemory>(); break;
            case Kind::kSqlite:
                store = std::move(CronStoreSqlite::open(folder / "cron.db").value());
                break;
        }
    }
    CronJob job(std::string id, SystemTime next_run, std::string tenant = "acme") const {
        CronJob made;
        made.job_id = std::move(id);
        made.name = "Tea \"time\"";
        made.schedule = "* * * * *";
        made.timezone = "Europe/Berlin";
        made.event_type = cron::CronEventType::kHeartbeat;
        made.tenant = TenantId(std::move(tenant));
        made.agent_id = "butler";
        made.session_id = "s1";
        made.isolation_key = "kitchen";
        made.input = R"({"a":"ü"})";
        made.missed_ticks = cron::MissedTickPolicy::kRunOnce;
        made.created_at = made.updated_at = now;
        made.next_run_at = next_run;
        return made;
    }
    CronRequest request(std::string key, std::string content = "c",
                        std::string tenant = "acme") const {
        return {.tenant = TenantId(std::move(tenant)),
                .principal = "caller/ann",
                .key = std::move(key),
                .content = std::move(content),
                .operation_id = "op-" + std::to_string(now.time_since_epoch().count()),
                .at = now};
    }
    void create(const CronJob& made) {
        ASSERT_TRUE(store->create(request(made.job_id, "c", made.tenant.text()), made, 1000));
    }
    CronFiring firing(const cron::DueJob& due, std::vector<std::string> envelopes) const {
        return {.number = due.number,
                .was_due = due.job.next_run_at,
                .decided_at = now,
                .next_run_at = due.job.next_run_at + 1min,
                .wake_at = due.job.next_run_at + 1min,
                .envelopes = std::move(envelopes)};
    }
    std::vector<std::string> waiting_events() {
        std::vector<std::string> found;
        for (const auto& event : store->unpublished(now, 100).value())
            found.push_back(event.envelope);
        return found;
    }
    std::vector<CronJob> jobs(std::string tenant = "acme") {
        return store->list(TenantId(std::move(tenant)), "", 100, 1 << 20).value().jobs;
    }

    TestFolder folder;
    std::unique_ptr<cron::CronStore> store;
    SystemTime now = FakeClock().system_now();
};

TEST_P(CronStoreTest, AJobComesBackAsItWasCreated) {
    const CronJob made = job("a", now + 1min);
    create(made);
    EXPECT_THAT(jobs(), ElementsAre(made));
    EXPECT_THAT(jobs("other"), IsEmpty());
}

TEST_P(CronStoreTest, ARepeatedRequestGetsTheFirstAnswerAndAnotherContentIsAConflict) {
    const auto first = store->create(request("k"), job("a", now + 1min), 1000).value();
    now += 1h;
    const auto again = store->create(request("k"), job("b", now + 5min), 1000).value();
    EXPECT_EQ(again.operation_id, first.operation_id);
    EXPECT_EQ(again.job, first.job);
    EXPECT_THAT(jobs(), SizeIs(1));
    EXPECT_EQ(store->create(request("k", "other"), job("b", now), 1000).error().code,
              ErrorCode::kConflict);
    EXPECT_EQ(store->remove(request("k", "other"), "a").error().code, ErrorCode::kConflict);
    EXPECT_TRUE(store->create(request("k", "other", "elsewhere"), job("b", now, "elsewhere"), 1000))
        << "another tenant's key";
}

TEST_P(CronStoreTest, ARepeatAfterTheJobWasRemovedStillAnswersAsTheFirst) {
    const auto first = store->create(request("k"), job("a", now + 1min), 1000).value();
    const auto removed = store->remove(request("r"), "a").value();
    now += 1min;
    EXPECT_EQ(store->remove(request("r"), "a").value(), removed);
    EXPECT_EQ(store->create(request("k"), job("b", now), 1000).value().job, first.job);
    EXPECT_THAT(jobs(), IsEmpty());
    EXPECT_EQ(store->remove(request("r2"), "a").error().message, "job not found");
}

TEST_P(CronStoreTest, AJobOfAnotherTenantIsNotFound) {
    create(job("a", now));
    const auto refused = store->remove(request("r", "c", "other"), "a");
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgs);
    EXPECT_EQ(refused.error().message, "job not found");
    EXPECT_THAT(jobs(), SizeIs(1));
}

TEST_P(CronStoreTest, PagesFollowEachOther) {
    for (const char* id : {"b", "a", "d", "c"}) create(job(id, now));
    const auto page = store->list(TenantId("acme"), "a", 2, 1 << 20).value();
    EXPECT_THAT(page.jobs, ElementsAre(Field(&CronJob::job_id, "b"), Field(&CronJob::job_id, "c")));
    EXPECT_TRUE(page.more);
    EXPECT_FALSE(store->list(TenantId("acme"), "b", 2, 1 << 20).value().more);
}

TEST_P(CronStoreTest, DueJobsAreThoseWhoseTimeHasCome) {
    create(job("later", now + 1ms));
    create(job("now", now));
    CronJob disabled = job("off", now - 1h);
    disabled.enabled = false;
    create(disabled);
    const auto due = store->due(now, 10).value();
    ASSERT_THAT(due, SizeIs(1));
    EXPECT_EQ(due[0].job, job("now", now));
    EXPECT_EQ(store->next_wake().value(), now);
    EXPECT_THAT(store->due(now + 1ms, 1).value(), SizeIs(1)) << "no more than asked for";
}

TEST_P(CronStoreTest, FiringMovesTheJobAndKeepsTheEventTogether) {
    create(job("a", now));
    const auto due = store->due(now, 10).value();
    EXPECT_EQ(store->fire(std::array{firing(due[0], {"one", "two"})}).value(), 2u);
    EXPECT_EQ(jobs()[0].next_run_at, now + 1min);
    EXPECT_EQ(jobs()[0].last_run_at, now);
    EXPECT_THAT(store->due(now, 10).value(), IsEmpty());
    EXPECT_THAT(waiting_events(), ElementsAre("one", "two"));
    EXPECT_EQ(store->due(now + 1min, 10).value()[0].unpublished, 2u);
}

TEST_P(CronStoreTest, AFiringThatComesSecondOrAfterTheJobIsGoneChangesNothing) {
    create(job("a", now));
    create(job("b", now));
    const auto due = store->due(now, 10).value();
    ASSERT_TRUE(store->fire(std::array{firing(due[0], {"one"})}));
    EXPECT_EQ(store->fire(std::array{firing(due[0], {"again"})}).value(), 0u);
    ASSERT_TRUE(store->remove(request("r"), "b"));
    EXPECT_EQ(store->fire(std::array{firing(due[1], {"gone"})}).value(), 0u);
    EXPECT_THAT(waiting_events(), ElementsAre("one"));
}

TEST_P(CronStoreTest, AFiringWithoutEventsLeavesTheLastRun) {
    create(job("a", now));
    ASSERT_TRUE(store->fire(std::array{firing(store->due(now, 1).value()[0], {"one"})}));
    const SystemTime ran = now;
    now += 1min;
    ASSERT_TRUE(store->fire(std::array{firing(store->due(now, 1).value()[0], {})}));
    EXPECT_EQ(jobs()[0].last_run_at, ran);
    EXPECT_THAT(store->decided_after(ran, 10).value(), SizeIs(1));
    EXPECT_THAT(store->decided_after(now, 10).value(), IsEmpty());
}

TEST_P(CronStoreTest, EventsLeaveWhenAcceptedAndWaitWhenRefused) {
    create(job("a", now));
    ASSERT_TRUE(
        store->fire(std::array{firing(store->due(now, 1).value()[0], {"one", "two", "three"})}));
    const auto events = store->unpublished(now, 10).value();
    ASSERT_TRUE(store->settle(
        std::array{events[0].number},
        std::array{cron::EventDelay{.number = events[1].number, .until = now + 1min}}));
    EXPECT_THAT(waiting_events(), ElementsAre("three"));
    ASSERT_TRUE(store->settle(std::array{events[2].number}, {}));
    EXPECT_EQ(store->next_publish().value(), now + 1min);
    now += 1min;
    EXPECT_EQ(store->unpublished(now, 10).value()[0].refusals, 1u);
    EXPECT_THAT(waiting_events(), ElementsAre("two"));
}

TEST_P(CronStoreTest, ATenantsJobsAreCountedByThemselves) {
    for (const char* id : {"a", "b"}) ASSERT_TRUE(store->create(request(id), job(id, now), 2));
    const auto refused = store->create(request("c"), job("c", now), 2);
    EXPECT_EQ(refused.error().code, ErrorCode::kRateLimited);
    EXPECT_FALSE(refused.error().may_retry());
    EXPECT_TRUE(store->create(request("c", "c", "other"), job("c", now, "other"), 2));
    ASSERT_TRUE(store->remove(request("r"), "a"));
    EXPECT_TRUE(store->create(request("c"), job("c", now), 2));
}

INSTANTIATE_TEST_SUITE_P(Both, CronStoreTest, testing::Values(Kind::kMemory, Kind::kSqlite),
                         [](const auto& info) {
                             return std::string(info.param == Kind::kMemory ? "Memory" : "Sqlite");
                         });

class Accepting final : public cron::CronEventSink {
public:
    Task<Result<void>> publish(std::string envelope) override {
        if (away) co_return fail(ErrorCode::kUnavailable, "away");
        accepted.push_back(std::move(envelope));
        co_return Result<void>{};
    }
    bool away = false;
    std::vector<std::string> accepted;
};

/// A scheduler on a real file, which ends and comes back like a process.
class CronRestartTest : public testing::Test {
protected:
    ~CronRestartTest() override { stop(); }
    void start() {
        store = std::move(CronStoreSqlite::open(folder / "cron.db").value());
        scheduler = std::make_unique<cron::CronScheduler>(
            cron::CronScheduler::Services{.store = *store,
                                          .zones = zones,
                                          .pool = pool,
                                          .clock = loop.clock,
                                          .timers = loop.timers,
                                          .ids = ids,
                                          .sink = sink},
            loop.executor());
        scheduler->start();
        drain();
    }
    void stop() {
        if (!scheduler) return;
        bool stopped = false;
        scheduler->stop([&] { stopped = true; });
        ASSERT_TRUE(loop.run_until([&] { return stopped; }));
        scheduler.reset();
        store.reset();
    }
    void drain() {
        for (int i = 0; i < 20; ++i) {
            loop.run(pool.run([] { return true; }));
            loop.settle();
        }
    }
    void pass(std::chrono::seconds time) {
        for (; time > 0s; time -= 1s) {
            loop.advance(1s);
            drain();
        }
    }
    void create(std::string id, cron::MissedTickPolicy policy) {
        CronJob made;
        made.job_id = id;
        made.name = id;
        made.schedule = "*/2 * * * *";
        made.timezone = "UTC";
        made.tenant = TenantId("acme");
        made.agent_id = "a";
        made.session_id = "s";
        made.missed_ticks = policy;
        made.created_at = made.updated_at = loop.clock.system_now();
        made.next_run_at = *cron::CronOccurrences(cron::CronSchedule::parse(made.schedule).value(),
                                                  zones.find("UTC").value())
                                .next_after(made.created_at);
        store
            ->create({.tenant = made.tenant,
                      .principal = "p",
                      .key = id,
                      .content = {},
                      .operation_id = "o",
                      .at = made.created_at},
                     made, 1000)
            .value();
        scheduler->wake();
        drain();
    }
    int count(std::string_view part) const {
        return static_cast<int>(std::ranges::count_if(
            sink.accepted,
            [&](const std::string& envelope) { return envelope.find(part) != std::string::npos; }));
    }

    TestLoop loop;   // 20:26:40
    TestFolder folder;
    BlockingPool pool{1};
    cron::TimeZones zones;
    IdSource ids{loop.clock, 1};
    Accepting sink;
    std::unique_ptr<CronStoreSqlite> store;
    std::unique_ptr<cron::CronScheduler> scheduler;
};

TEST_F(CronRestartTest, JobsSurviveARestartAndFireOnceAMinute) {
    start();
    create("job", cron::MissedTickPolicy::kSkip);
    pass(90s);   // 20:28:10
    EXPECT_EQ(count("20:28:00.000Z\",\"triggered_at"), 1);
    for (int i = 0; i < 3; ++i) {
        stop();
        start();
    }
    pass(30s);
    EXPECT_EQ(sink.accepted.size(), 1u);
    pass(90s);
    EXPECT_EQ(count("20:30:00.000Z\",\"triggered_at"), 1);
    EXPECT_EQ(sink.accepted.size(), 2u);
}

TEST_F(CronRestartTest, AfterDowntimeRunOnceSendsOneEventAndSkipNone) {
    start();
    create("once", cron::MissedTickPolicy::kRunOnce);
    create("skip", cron::MissedTickPolicy::kSkip);
    stop();
    loop.advance(31min + 11s + 60s);   // 20:58 is 71 s ago
    loop.advance(40s);
    start();
    EXPECT_EQ(count("\"job_id\":\"skip\""), 0);
    EXPECT_EQ(count("\"job_id\":\"once\""), 1);
    EXPECT_EQ(count("\"missed_count\":16"), 1);
}

TEST_F(CronRestartTest, AnEventThatNobodyAcceptedIsTheSameAfterTheRestart) {
    start();
    create("job", cron::MissedTickPolicy::kSkip);
    sink.away = true;
    pass(85s);
    const auto before = store->unpublished(loop.clock.system_now(), 10).value();
    ASSERT_THAT(before, SizeIs(1));
    stop();
    sink.away = false;
    start();
    EXPECT_THAT(sink.accepted, ElementsAre(before[0].envelope));
    EXPECT_THAT(store->unpublished(loop.clock.system_now(), 10).value(), IsEmpty());
}

TEST_F(CronRestartTest, ADamagedFileIsRefused) {
    start();
    stop();
    {
        std::FILE* file = std::fopen((folder / "cron.db").c_str(), "r+b");
        std::fputs("no database any more", file);
        std::fclose(file);
    }
    EXPECT_EQ(CronStoreSqlite::open(folder / "cron.db").error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace crab::store::sqlite
