#include "store/sqlite/cron_store_sqlite.hpp"

#include "base/process/test_folder.hpp"
#include "base/task/test_loop.hpp"
#include "base/test_clock.hpp"
#include "hosts/cron/cron_occurrences.hpp"
#include "hosts/cron/cron_scheduler.hpp"
#include "hosts/cron/test_cron_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::store::sqlite {
namespace {

using namespace std::chrono_literals;
using cron::CronJob;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

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
