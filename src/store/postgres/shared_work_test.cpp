#include "core/events/test_event_steps.hpp"
#include "store/postgres/cron_store_postgres.hpp"
#include "store/postgres/event_store_postgres.hpp"
#include "store/postgres/event_turn_store_postgres.hpp"
#include "store/postgres/node_table_postgres.hpp"
#include "store/postgres/stores_postgres.hpp"
#include "store/postgres/test_cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <future>

namespace crab::store::postgres {
namespace {

using namespace std::chrono_literals;
using core::CallStep;
using core::EventReceipt;
using core::EventStatus;
using Steps = core::EventStoreSteps;
using testing::ElementsAre;
using testing::IsEmpty;

const SystemTime kNow{std::chrono::seconds(1'780'000'000)};

Result<core::NewEvent> event_of(const std::string& envelope) {
    core::NewEvent made = Steps::published(envelope, "key " + envelope);
    made.event.envelope = envelope;
    return made;
}

/// A process of a node, with what it shares with others.
struct Process {
    Process(const ConnectionOptions& options, std::int16_t number, std::uint32_t boot)
        : self{.number = number, .boot = boot},
          table(options),
          events(options, self),
          turns(options, self),
          jobs(options, event_of) {
        name = table.begin(static_cast<std::uint16_t>(number), boot).value();
    }

    const NodeProcess self;
    NodeTablePostgres table;
    fleet::NodeName name;
    EventStorePostgres events;
    EventTurnStorePostgres turns;
    CronStorePostgres jobs;
};

struct SharedWorkTest : testing::Test {
    void SetUp() override {
        if (TestCluster::find() == nullptr) GTEST_SKIP() << "PostgreSQL is not installed";
        options = TestCluster::find()->new_database();
        ASSERT_TRUE(StoresPostgres::open({.database = options, .fleet = "harbour"}));
        Connection database(options);
        ASSERT_EQ(node_number(database, "north").value(), 1);
        ASSERT_EQ(node_number(database, "south").value(), 2);
        one.emplace(options, 1, 11);
        two.emplace(options, 2, 22);
    }
    /// As another node fences it.
    void fence(const Process& other) {
        for (const fleet::NodeRow& row : one->table.read().value())
            if (row.name == other.name) {
                EXPECT_TRUE(one->table.fence(row.name, row.beats).value());
            }
    }
    static EventReceipt append(Process& process, core::NewEvent event) {
        return process.events.append({std::move(event)}, kNow).front().value();
    }
    static std::vector<std::string> open_calls(Process& process) {
        std::vector<std::string> ids;
        for (const auto& event : process.events.open_calls().value())
            ids.push_back(event.event.event_id);
        return ids;
    }
    static core::EventTurn turn(std::string event_id) {
        return {.turn_id = "turn of " + event_id,
                .agent = "butler",
                .event_id = std::move(event_id),
                .event_type = "cron.triggered",
                .session = ChatSessionId("agent-butler"),
                .begun = kNow};
    }
    void create(const std::string& id) {
        cron::CronJob job;
        job.job_id = id;
        job.name = id;
        job.schedule = "* * * * *";
        job.timezone = "UTC";
        job.tenant = TenantId("acme");
        job.created_at = job.updated_at = job.next_run_at = kNow;
        const cron::CronRequest request{.tenant = job.tenant,
                                        .principal = "ann",
                                        .key = id,
                                        .content = "c",
                                        .operation_id = "op",
                                        .at = kNow};
        ASSERT_TRUE(one->jobs.create(request, job, 1000));
    }
    static std::vector<cron::CronFiring> fire_all(std::span<const cron::DueJob> due) {
        std::vector<cron::CronFiring> firings;
        for (const cron::DueJob& each : due)
            firings.push_back({.number = each.number,
                               .was_due = each.job.next_run_at,
                               .decided_at = kNow,
                               .next_run_at = kNow + 1min,
                               .wake_at = kNow + 1min,
                               .envelopes = {R"({"of":")" + each.job.job_id + "\"}"}});
        return firings;
    }

    ConnectionOptions options;
    std::optional<Process> one, two;
};

TEST_F(SharedWorkTest, WhatAProcessRunsIsOpenForOthersOnceItIsFencedOffHasLeftOrBegunAnew) {
    append(*one, Steps::requested("of one"));
    append(*two, Steps::requested("of two"));
    EXPECT_THAT(open_calls(*one), IsEmpty());
    EXPECT_THAT(open_calls(*two), IsEmpty());
    fence(*two);
    EXPECT_THAT(open_calls(*one), ElementsAre("of two"));
    EXPECT_THAT(open_calls(*two), IsEmpty()) << "it goes on with what it runs";
    two->name = two->table.begin(2, 22).value();
    EXPECT_THAT(open_calls(*one), IsEmpty());
    Process next(options, 2, 23);
    EXPECT_THAT(open_calls(*one), ElementsAre("of two"));
    EXPECT_THAT(open_calls(next), ElementsAre("of two"));
    ASSERT_TRUE(one->table.leave(one->name));
    EXPECT_THAT(open_calls(next), ElementsAre("of one", "of two"));
}

TEST_F(SharedWorkTest, ACallEndsOnceWhoeverTellsOfIt) {
    append(*two, Steps::requested("call"));
    EXPECT_EQ(append(*one, Steps::ended("call", CallStep::kEndedUnknown)).status,
              EventStatus::kAccepted);
    EXPECT_EQ(append(*two, Steps::ended("call")).status, EventStatus::kDropped);
    const auto both = two->events.append({Steps::requested("short"), Steps::ended("short"),
                                          Steps::ended("short"), Steps::event("other")},
                                         kNow);
    EXPECT_EQ(both[1].value().status, EventStatus::kAccepted);
    EXPECT_EQ(both[2].value().status, EventStatus::kDropped);
    EXPECT_EQ(both[3].value().position, 5);
}

TEST_F(SharedWorkTest, WhatIsSentAgainAndWasStoredIsNotStoredTwice) {
    append(*one, Steps::event("before"));
    append(*two, Steps::event("arrived"));
    core::NewEvent arrived = Steps::event("arrived"), lost = Steps::event("lost");
    arrived.sent_after = lost.sent_after = 1;
    const auto both = two->events.append({arrived, lost}, kNow);
    EXPECT_EQ(both[0].value().status, EventStatus::kDropped);
    EXPECT_EQ(both[1].value().position, 3);
}

TEST_F(SharedWorkTest, AnAgentIsOneProcesssUntilThatHasEnded) {
    EXPECT_TRUE(one->turns.hold("butler").value());
    EXPECT_FALSE(two->turns.hold("butler").value());
    EXPECT_TRUE(one->turns.hold("butler").value()) << "it has it still";
    EXPECT_TRUE(two->turns.hold("cook").value());
    EXPECT_TRUE(one->turns.claim(turn("e1"), 7).value());
    EXPECT_EQ(two->turns.claim(turn("e2"), 8).error().code, ErrorCode::kConflict);
    EXPECT_EQ(two->turns.advance("butler", 9).error().code, ErrorCode::kConflict);
    EXPECT_EQ(two->turns.position("butler").value(), 7);
    EXPECT_THAT(two->turns.open_turns().value(), IsEmpty());
    ASSERT_TRUE(one->table.leave(one->name));
    EXPECT_TRUE(two->turns.hold("butler").value());
    EXPECT_FALSE(one->turns.hold("butler").value());
    EXPECT_EQ(one->turns.claim(turn("e2"), 8).error().code, ErrorCode::kConflict);
    EXPECT_FALSE(two->turns.claim(turn("e1"), 7).value()) << "it has had its turn";
    EXPECT_TRUE(two->turns.claim(turn("e2"), 8).value());
    const auto left = two->turns.open_turns().value();
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].event_id, "e1");
}

TEST_F(SharedWorkTest, WhoIsFencedOffTakesNoAgentAndLosesWhatItHas) {
    EXPECT_TRUE(two->turns.hold("butler").value());
    fence(*two);
    EXPECT_FALSE(two->turns.hold("cook").value());
    EXPECT_TRUE(two->turns.hold("butler").value()) << "nobody has taken it";
    EXPECT_TRUE(one->turns.hold("butler").value());
    two->name = two->table.begin(2, 22).value();
    EXPECT_FALSE(two->turns.hold("butler").value());
    EXPECT_TRUE(two->turns.hold("cook").value());
}

TEST_F(SharedWorkTest, ADueJobIsTakenByOneAndItsEventIsThereWithItsNextTime) {
    create("a");
    create("b");
    create("c");
    std::promise<void> taken, go_on;
    auto first = std::async(std::launch::async, [&] {
        return one->jobs.fire_due(kNow, 2, [&](std::span<const cron::DueJob> due) {
            taken.set_value();
            go_on.get_future().wait();
            return fire_all(due);
        });
    });
    taken.get_future().wait();
    const auto second = two->jobs.fire_due(kNow, 2, fire_all).value();
    EXPECT_EQ(second.jobs, 1U) << "the others are somebody's";
    EXPECT_EQ(second.events, 1U);
    EXPECT_EQ(two->jobs.fire_due(kNow, 2, fire_all).value().jobs, 0U);
    go_on.set_value();
    EXPECT_EQ(first.get().value().events, 2U);
    EXPECT_THAT(two->jobs.due(kNow, 10).value(), IsEmpty());
    EXPECT_THAT(two->jobs.unpublished(kNow, 10).value(), IsEmpty());
    std::vector<std::string> told;
    for (const auto& event : one->events.read(0, 10, 1 << 20).value())
        told.push_back(event.event.envelope);
    EXPECT_THAT(told,
                testing::UnorderedElementsAre(R"({"of":"a"})", R"({"of":"b"})", R"({"of":"c"})"));
}

TEST_F(SharedWorkTest, AProcessThatStandsStillInATransactionIsPutOutOfTheWay) {
    create("a");
    EXPECT_FALSE(one->jobs.fire_due(kNow, 1, [&](std::span<const cron::DueJob> due) {
        std::this_thread::sleep_for(6s);
        return fire_all(due);
    }));
    EXPECT_EQ(two->jobs.fire_due(kNow, 1, fire_all).value().events, 1U);
}

}  // namespace
}  // namespace crab::store::postgres
