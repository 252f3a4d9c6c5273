#include "push/subscription_store.hpp"

#include "store/suite/test_engine.hpp"

#include <gtest/gtest.h>

namespace crab::store {
namespace {

push::Subscription subscription(std::string id, std::string endpoint, int hour) {
    return {.id = std::move(id),
            .principal = "caller/me",
            .credential = "0a1b2c3d",
            .endpoint = std::move(endpoint),
            .keys = {.point = std::string("\x04\x00\xff", 3), .secret = std::string("\x00s", 2)},
            .created_at = SystemTime(std::chrono::hours(500'000 + hour))};
}

using PushSubscriptionStoreTest = StoreSuite;

TEST_P(PushSubscriptionStoreTest, TheyComeBackAsTheyWereAndOnceForAnEndpoint) {
    auto store = engine().stores().open_push_subscriptions().value();
    ASSERT_TRUE(store->insert(subscription("b", "https://push.example/2", 2)));
    ASSERT_TRUE(store->insert(subscription("a", "https://push.example/1", 1)));
    ASSERT_TRUE(store->insert(subscription("c", "https://push.example/2", 3)));
    ASSERT_TRUE(store->remove(std::vector<std::string>{"a", "nobody"}));
    store.reset();

    store = engine().stores().open_push_subscriptions().value();
    const auto all = store->load_all();
    ASSERT_TRUE(all);
    ASSERT_EQ(all->size(), 1u);
    const push::Subscription& found = all->front();
    EXPECT_EQ(found.id, "c");
    EXPECT_EQ(found.principal, "caller/me");
    EXPECT_EQ(found.credential, "0a1b2c3d");
    EXPECT_EQ(found.endpoint, "https://push.example/2");
    EXPECT_EQ(found.keys.point, std::string("\x04\x00\xff", 3));
    EXPECT_EQ(found.keys.secret, std::string("\x00s", 2));
    EXPECT_EQ(found.created_at, subscription("c", "", 3).created_at);
}

CRAB_EACH_ENGINE(PushSubscriptionStoreTest);

}  // namespace
}  // namespace crab::store
