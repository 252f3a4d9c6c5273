#include "store/postgres/node_keys.hpp"

#include "fleet/node_table.hpp"
#include "store/postgres/node_claim.hpp"
#include "store/postgres/stores_postgres.hpp"
#include "store/postgres/test_cluster.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace crab::store::postgres {
namespace {

using Names = std::vector<std::string>;

/// Nodes of one fleet that run, each with a session of its own.
struct NodeKeysTest : testing::Test {
    void SetUp() override {
        if (TestCluster::find() == nullptr) GTEST_SKIP() << "PostgreSQL is not installed";
        options = TestCluster::find()->new_database();
        one = start("one");
        two = start("two");
    }
    std::unique_ptr<StoresPostgres> start(std::string name) {
        const auto open = [&] {
            return StoresPostgres::open({.database = options,
                                         .fleet = "harbour",
                                         .node_name = name,
                                         .is_node = true,
                                         .require_sync = false});
        };
        auto opened = open();
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (!opened && std::chrono::steady_clock::now() < until) {  // its last session ends
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            opened = open();
        }
        EXPECT_TRUE(opened) << opened.error().message;
        EXPECT_TRUE(
            (*opened)->open_nodes()->begin(static_cast<std::uint16_t>((*opened)->node()), 7));
        return std::move(*opened);
    }
    ConnectionOptions options;
    std::unique_ptr<StoresPostgres> one, two;
};

TEST_F(NodeKeysTest, AnotherKeyIsRefusedAndWrittenDownOnlyWhenItIsNot) {
    ASSERT_TRUE(one->agree_on_keys(Names{"a"}));
    const auto refused = two->agree_on_keys(Names{"b"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().message.find("the node one of this fleet has another key"),
              std::string::npos);
    EXPECT_TRUE(one->agree_on_keys(Names{"a"})) << "what was refused counts for nobody";
    EXPECT_TRUE(two->agree_on_keys(Names{"a"}));
}

TEST_F(NodeKeysTest, AKeyIsReplacedInThreeSteps) {
    for (const Names& step :
         {Names{"old"}, Names{"old", "new"}, Names{"new", "old"}, Names{"new"}}) {
        EXPECT_TRUE(one->agree_on_keys(step));
        EXPECT_TRUE(two->agree_on_keys(step));
    }
    EXPECT_FALSE(one->agree_on_keys(Names{"newest", "new"})) << "the other would not accept it";
}

TEST_F(NodeKeysTest, NodesThatBeginTogetherDoNotMeetTheKeysOfTheirLastLives) {
    ASSERT_TRUE(one->agree_on_keys(Names{"a"}));
    ASSERT_TRUE(two->agree_on_keys(Names{"a"}));
    one.reset();
    two.reset();
    one = start("one");
    two = start("two");
    EXPECT_TRUE(one->agree_on_keys(Names{"b"}));
    EXPECT_TRUE(two->agree_on_keys(Names{"b"}));
}

TEST_F(NodeKeysTest, ANodeWhoseProcessIsGoneIsNotAsked) {
    ASSERT_TRUE(one->agree_on_keys(Names{"a"}));
    one.reset();  // without a word: its row is that of one that lives
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!two->agree_on_keys(Names{"b"}) && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(two->agree_on_keys(Names{"b"}));
}

}  // namespace
}  // namespace crab::store::postgres
