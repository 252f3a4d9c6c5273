#include "core/ledger/call_task_store.hpp"
#include "store/suite/test_engine.hpp"

#include <gtest/gtest.h>

namespace crab::store {
namespace {

using core::CallTask;
using namespace std::chrono_literals;

constexpr SystemTime kNoon{std::chrono::hours(500'000)};

CallTask task(std::string id, std::string principal = "caller/ann") {
    return {.id = std::move(id),
            .tenant = "home",
            .principal = std::move(principal),
            .call_id = "c1",
            .request = "12345678",
            .resume = {},
            .created = kNoon,
            .updated = kNoon,
            .status = {},
            .outcome = {}};
}

struct CallTaskStoreTest : StoreSuite {
    std::unique_ptr<core::CallTaskStore> open() {
        return engine().records().open_call_tasks().value();
    }
    std::unique_ptr<core::CallTaskStore> store = open();
};

TEST_P(CallTaskStoreTest, ATaskIsThereAfterARestartWithWhatItsHostPromised) {
    ASSERT_TRUE(store->add(task("a"), {}).value());
    ASSERT_TRUE(store->set_resume("a", "upstream-1"));
    store = open();
    CallTask expected = task("a");
    expected.resume = "upstream-1";
    EXPECT_EQ(store->find("a").value(), expected);
    EXPECT_FALSE(store->find("b").value());
}

TEST_P(CallTaskStoreTest, TheFirstEndCountsAndLeavesNothingOfTheRequest) {
    ASSERT_TRUE(store->add(task("a"), {}).value());
    ASSERT_TRUE(store->end("a", "completed", "{}", kNoon + 1s, {}));
    ASSERT_TRUE(store->end("a", "failed", "", kNoon + 2s, {}));
    ASSERT_TRUE(store->set_resume("a", "late"));
    const CallTask found = store->find("a").value().value();
    EXPECT_TRUE(found.ended);
    EXPECT_EQ(found.status, "completed");
    EXPECT_EQ(found.outcome, "{}");
    EXPECT_EQ(found.updated, kNoon + 1s);
    EXPECT_TRUE(found.request.empty());
    EXPECT_TRUE(found.resume.empty());
}

TEST_P(CallTaskStoreTest, ACancelledTaskHasNothingToBeRunAgain) {
    ASSERT_TRUE(store->add(task("a"), {}).value());
    ASSERT_TRUE(store->cancel("a"));
    const CallTask found = store->find("a").value().value();
    EXPECT_FALSE(found.ended);
    EXPECT_TRUE(found.request.empty());
}

TEST_P(CallTaskStoreTest, EachPrincipalHasItsLimits) {
    const core::CallTaskStore::Limits limits{.tasks = 2, .bytes = 20};
    ASSERT_TRUE(store->add(task("a"), limits).value());
    ASSERT_TRUE(store->add(task("b"), limits).value());
    EXPECT_FALSE(store->add(task("c"), limits).value());
    EXPECT_TRUE(store->add(task("d", "caller/bob"), limits).value());
    // the outcome counts as the request did
    ASSERT_TRUE(store->end("d", "completed", std::string(13, ' '), kNoon, limits));
    EXPECT_FALSE(store->add(task("e", "caller/bob"), limits).value());
    ASSERT_TRUE(store->remove("b"));
    EXPECT_TRUE(store->add(task("c"), limits).value());
}

TEST_P(CallTaskStoreTest, AnOutcomeIsKeptAsFarAsThereIsRoom) {
    const core::CallTaskStore::Limits limits{.bytes_at_end = 10'000};
    for (const char* id : {"a", "b"}) ASSERT_TRUE(store->add(task(id), limits).value());
    EXPECT_TRUE(store->end("a", "completed", std::string(9'000, ' '), kNoon, limits).value());
    EXPECT_FALSE(store->end("b", "completed", std::string(5'000, ' '), kNoon, limits).value());
    EXPECT_FALSE(store->find("b").value()->ended);
    EXPECT_TRUE(store->end("b", "failed", "too large", kNoon, limits).value());
}

TEST_P(CallTaskStoreTest, OldTasksAreForgotten) {
    ASSERT_TRUE(store->add(task("a"), {}).value());
    EXPECT_EQ(store->forget(kNoon).value(), 0u);
    EXPECT_EQ(store->forget(kNoon + 1ms).value(), 1u);
    EXPECT_FALSE(store->find("a").value());
}

CRAB_EACH_ENGINE(CallTaskStoreTest);

}  // namespace
}  // namespace crab::store
