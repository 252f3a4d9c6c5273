#include "hosts/cron/cron_store.hpp"

#include "base/test_clock.hpp"
#include "hosts/cron/test_cron_store.hpp"
#include "store/suite/test_engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::store {
namespace {

using namespace std::chrono_literals;
using cron::CronFiring;
using cron::CronJob;
using cron::CronRequest;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

/// The one in memory, which other tests use, keeps the same promises.
class CronStoreTest : public StoreSuite {
protected:
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

    std::unique_ptr<cron::CronStore> store = in_memory() ? std::make_unique<cron::CronStoreMemory>()
                                                         : engine().records().open_cron().value();
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

TEST_P(CronStoreTest, DueJobsAreTakenDecidedAndStoredTogether) {
    for (const char* id : {"a", "b", "c"}) create(job(id, now));
    const auto decide = [&](std::span<const cron::DueJob> due) {
        std::vector<CronFiring> firings;
        for (const auto& one : due) firings.push_back(firing(one, {one.job.job_id}));
        return firings;
    };
    const auto some = store->fire_due(now, 2, decide).value();
    EXPECT_EQ(some.jobs, 2u);
    EXPECT_EQ(some.events, 2u);
    EXPECT_EQ(store->fire_due(now, 2, decide).value().jobs, 1u);
    EXPECT_EQ(store->fire_due(now, 2, decide).value().jobs, 0u);
    EXPECT_THAT(waiting_events(), testing::UnorderedElementsAre("a", "b", "c"));
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

CRAB_EACH_ENGINE_AND_MEMORY(CronStoreTest);

}  // namespace
}  // namespace crab::store
