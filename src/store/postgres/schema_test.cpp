#include "store/postgres/schema.hpp"

#include "store/postgres/stores_postgres.hpp"
#include "store/postgres/test_cluster.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace crab::store::postgres {
namespace {

struct DatabaseSchemaTest : testing::Test {
    void SetUp() override {
        if (TestCluster::find() == nullptr) GTEST_SKIP() << "PostgreSQL is not installed";
        options = TestCluster::find()->new_database();
    }
    std::int64_t version() {
        Connection database(options);
        return database.query("SELECT version FROM fleet_state").value()[0].integer(0);
    }
    ConnectionOptions options;
};

TEST_F(DatabaseSchemaTest, StepsRunOnceAndInTheirOrder) {
    constexpr std::array<std::string_view, 2> kSteps{
        "CREATE TABLE a (x int); CREATE TABLE b (y int);", "ALTER TABLE a ADD COLUMN z text;"};
    Connection database(options);
    ASSERT_TRUE(migrate(database, "harbour", std::span(kSteps).first(1)));
    ASSERT_TRUE(migrate(database, "harbour", kSteps));
    ASSERT_TRUE(migrate(database, "harbour", kSteps));
    EXPECT_EQ(version(), 2);
    EXPECT_TRUE(database.run("SELECT x, z FROM a, b"));
}

TEST_F(DatabaseSchemaTest, AStepThatFailsLeavesTheSchemaAsItWas) {
    constexpr std::array<std::string_view, 2> kSteps{"CREATE TABLE a (x int);",
                                                     "CREATE TABLE c (y int); CREATE TABLE a ();"};
    Connection database(options);
    ASSERT_TRUE(migrate(database, "harbour", std::span(kSteps).first(1)));
    EXPECT_EQ(migrate(database, "harbour", kSteps).error().code, ErrorCode::kInternal);
    EXPECT_EQ(version(), 1);
    EXPECT_FALSE(database.run("SELECT FROM c"));
}

TEST_F(DatabaseSchemaTest, ANewerSchemaAndAnotherFleetsDatabaseAreRefused) {
    ASSERT_TRUE(StoresPostgres::open({.database = options, .fleet = "harbour"}));
    const auto other = StoresPostgres::open({.database = options, .fleet = "garden"});
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::kConflict);
    EXPECT_NE(other.error().message.find("fleet harbour, not of garden"), std::string::npos);
    Connection database(options);
    ASSERT_TRUE(database.run("UPDATE fleet_state SET version = version + 1"));
    const auto newer = StoresPostgres::open({.database = options, .fleet = "harbour"});
    ASSERT_FALSE(newer);
    EXPECT_EQ(newer.error().code, ErrorCode::kInternal);
    EXPECT_NE(newer.error().message.find("use the newer program"), std::string::npos);
}

TEST_F(DatabaseSchemaTest, NodesThatStartTogetherMakeOneSchema) {
    std::array<bool, 4> opened{};
    {
        std::vector<std::jthread> nodes;
        for (std::size_t i = 0; i < opened.size(); ++i)
            nodes.emplace_back([&, i] {
                opened[i] =
                    StoresPostgres::open({.database = options, .fleet = "harbour"}).has_value();
            });
    }
    EXPECT_EQ(opened, (std::array{true, true, true, true}));
    EXPECT_EQ(version(), static_cast<std::int64_t>(schema_steps().size()));
}

}  // namespace
}  // namespace crab::store::postgres
