#include "store/postgres/event_store_postgres.hpp"

#include "store/postgres/stores_postgres.hpp"
#include "store/postgres/test_cluster.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <thread>

namespace crab::store::postgres {
namespace {

const SystemTime kNow{std::chrono::seconds(1'780'000'000)};

core::NewEvent event(std::string id) {
    core::NewEvent made;
    made.event = {.type = core::EventType::kCronTriggered,
                  .event_id = std::move(id),
                  .tenant = "acme",
                  .agent_id = {},
                  .session_id = {},
                  .addressee = {},
                  .envelope = "{}"};
    return made;
}

struct EventsOfNodesTest : testing::Test {
    void SetUp() override {
        if (TestCluster::find() == nullptr) GTEST_SKIP() << "PostgreSQL is not installed";
        options = TestCluster::find()->new_database();
        ASSERT_TRUE(StoresPostgres::open({.database = options, .fleet = "harbour"}));
    }
    ConnectionOptions options;
};

TEST_F(EventsOfNodesTest, AppendsOfSeveralNodesMakeOneLineWithoutGaps) {
    std::array<std::vector<core::EventPosition>, 4> positions;
    {
        std::vector<std::jthread> nodes;
        for (std::size_t n = 0; n < positions.size(); ++n)
            nodes.emplace_back([&, n] {
                EventStorePostgres store(options);
                for (int i = 0; i < 25; ++i) {
                    const std::string id = std::to_string(n) + "-" + std::to_string(i);
                    for (const auto& receipt : store.append({event(id), event(id + "b")}, kNow))
                        positions[n].push_back(receipt.value().position);
                }
            });
    }
    std::set<core::EventPosition> all;
    for (const auto& of_node : positions) {
        EXPECT_TRUE(std::ranges::is_sorted(of_node));
        all.insert(of_node.begin(), of_node.end());
    }
    EXPECT_EQ(all.size(), 200u);
    EXPECT_EQ(*all.begin(), 1);
    EXPECT_EQ(*all.rbegin(), 200);
}

TEST_F(EventsOfNodesTest, AnAnsweredEventIsThereOnceAlsoWhenConnectionsAreLost) {
    EventStorePostgres store(options);
    auto cutter = std::make_unique<ConnectionCutter>(options);
    std::set<std::string> answered;
    for (int i = 0; i < 150; ++i) {
        if (store.append({event(std::to_string(i))}, kNow).front())
            answered.insert(std::to_string(i));
        cutter->step();
    }
    cutter.reset();
    Connection database(options);
    const auto rows =
        database.query("SELECT event_id, position FROM event ORDER BY position").value();
    std::set<std::string> stored;
    core::EventPosition last = 0;
    for (const auto row : rows) {
        EXPECT_TRUE(stored.insert(row.text(0)).second) << row.text(0) << " is there twice";
        EXPECT_EQ(row.integer(1), ++last);
    }
    EXPECT_TRUE(std::ranges::includes(stored, answered));
    EXPECT_FALSE(answered.empty());
}

}  // namespace
}  // namespace crab::store::postgres
