#include "push/subscriptions.hpp"

#include "base/test_clock.hpp"

#include <gtest/gtest.h>

namespace crab::push {
namespace {

class SubscriptionStoreMemory final : public SubscriptionStore {
public:
    std::optional<Error> failure;
    std::vector<Subscription> kept;

    Result<std::vector<Subscription>> load_all() override { return kept; }
    Result<void> insert(const Subscription& subscription) override {
        if (failure) return fail(*failure);
        std::erase_if(kept,
                      [&](const auto& each) { return each.endpoint == subscription.endpoint; });
        kept.push_back(subscription);
        return {};
    }
    Result<void> remove(std::span<const std::string> ids) override {
        for (const std::string& id : ids)
            std::erase_if(kept, [&](const auto& each) { return each.id == id; });
        return {};
    }
};

class SubscriptionsTest : public testing::Test {
protected:
    SubscriptionsTest() {
        subscriptions.on_changed([this] { ++changes; });
    }
    Result<Subscription> add(std::string endpoint, std::string principal = "caller/me") {
        Subscription wanted;
        wanted.endpoint = std::move(endpoint);
        wanted.principal = std::move(principal);
        return subscriptions.add(std::move(wanted));
    }

    FakeClock clock;
    std::shared_ptr<SubscriptionStoreMemory> store = std::make_shared<SubscriptionStoreMemory>();
    std::string ended = "dead";  ///< a credential
    Subscriptions subscriptions{store, clock,
                                [this](const auto& each) { return each.credential != ended; }};
    int changes = 0;
};

TEST_F(SubscriptionsTest, OneBrowserIsOneAndOfOnePerson) {
    const auto first = add("https://a.example/1").value();
    const auto again = add("https://a.example/1").value();
    EXPECT_NE(first.id, again.id);
    ASSERT_EQ(subscriptions.list().size(), 1u);
    EXPECT_EQ(store->kept.size(), 1u);
    EXPECT_EQ(add("https://a.example/1", "caller/other").error().code, ErrorCode::kForbidden);
    EXPECT_EQ(subscriptions.remove(again.id, "caller/other").error().code, ErrorCode::kNotFound);
    EXPECT_TRUE(subscriptions.remove(again.id, "caller/me"));
    EXPECT_TRUE(subscriptions.list().empty());
    EXPECT_TRUE(store->kept.empty());
    EXPECT_EQ(changes, 3);
}

TEST_F(SubscriptionsTest, NobodyCrowdsOthersOut) {
    for (std::size_t i = 0; i < Subscriptions::kMostOfOnePrincipal; ++i)
        EXPECT_TRUE(add("https://a.example/" + std::to_string(i)));
    EXPECT_EQ(add("https://a.example/more").error().code, ErrorCode::kConflict);
    EXPECT_TRUE(add("https://a.example/1")) << "one that is there already";
    EXPECT_TRUE(add("https://b.example/1", "caller/other"));
    for (std::size_t i = subscriptions.list().size(); i < Subscriptions::kMost; ++i)
        EXPECT_TRUE(add("https://c.example/" + std::to_string(i), "caller/" + std::to_string(i)));
    EXPECT_EQ(add("https://d.example/1", "caller/late").error().code, ErrorCode::kConflict);
}

TEST_F(SubscriptionsTest, WhatHasExpiredIsToldNothingAndForgottenByTheSweep) {
    ended.clear();
    Subscription wanted;
    wanted.endpoint = "https://a.example/1";
    wanted.principal = "caller/me";
    wanted.credential = "key";
    ASSERT_TRUE(subscriptions.add(wanted));
    ASSERT_EQ(subscriptions.list().size(), 1u);
    ended = "key";
    EXPECT_TRUE(subscriptions.list().empty());
    EXPECT_EQ(store->kept.size(), 1u);
    const int before = changes;
    subscriptions.forget_ended();
    EXPECT_TRUE(store->kept.empty());
    EXPECT_EQ(changes, before + 1);
}

TEST_F(SubscriptionsTest, DevicesTakeNoPlaceOfAnOperator) {
    Subscription wanted;
    for (std::size_t i = 0; i < Subscriptions::kMost; ++i) {
        wanted.endpoint = "https://a.example/" + std::to_string(i);
        wanted.principal = "device/" + std::to_string(i);
        ASSERT_TRUE(subscriptions.add(wanted, Purpose::kWaking));
    }
    wanted.endpoint = "https://a.example/more";
    EXPECT_FALSE(subscriptions.add(wanted, Purpose::kWaking));
    EXPECT_TRUE(add("https://b.example/1"));
}

TEST_F(SubscriptionsTest, WhatIsNotStoredDoesNotCount) {
    store->failure = Error{.code = ErrorCode::kUnavailable, .message = "full"};
    EXPECT_EQ(add("https://a.example/1").error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(subscriptions.list().empty());
}

TEST_F(SubscriptionsTest, ThoseWhoseCredentialHasEndedAreForgotten) {
    store->kept.push_back({.id = "a", .principal = {}, .credential = "dead", .endpoint = "1"});
    store->kept.push_back({.id = "b", .principal = {}, .credential = "good", .endpoint = "2"});
    ASSERT_TRUE(subscriptions.load());
    ASSERT_EQ(subscriptions.list().size(), 1u);
    EXPECT_EQ(store->kept.size(), 1u);
    subscriptions.remove_those([](const auto& each) { return each.credential == "good"; });
    EXPECT_TRUE(store->kept.empty());
    EXPECT_FALSE(subscriptions.find("b"));
}

TEST_F(SubscriptionsTest, OneWhoseCredentialEndsMeanwhileIsNotKept) {
    Subscription wanted;
    wanted.endpoint = "https://a.example/1";
    wanted.credential = ended;
    EXPECT_EQ(subscriptions.add(wanted).error().code, ErrorCode::kForbidden);
    EXPECT_TRUE(subscriptions.list().empty());
    EXPECT_TRUE(store->kept.empty());
}

}  // namespace
}  // namespace crab::push
