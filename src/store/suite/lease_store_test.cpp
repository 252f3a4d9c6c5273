#include "trust/lease_store.hpp"
#include "base/test_clock.hpp"
#include "store/suite/test_engine.hpp"

#include <gtest/gtest.h>

namespace crab::store {
namespace {

using namespace std::chrono_literals;
using trust::Lease;

class LeaseStoreTest : public StoreSuite {
protected:
    Lease lease(std::string id, Milliseconds ttl) {
        const SystemTime now = std::chrono::floor<Milliseconds>(clock.system_now());
        return {.id = std::move(id),
                .owner = "subscriber/log",
                .tenant_id = "harbour",
                .agent_id = "a\"1",
                .session_id = "s",
                .capabilities = {"events.subscribe:cron.*", "control.config:x"},
                .disconnect_bound = true,
                .ttl = ttl,
                .issued_at = now,
                .expires_at = now + ttl,
                .revoked_at = {},
                .revoke_reason = {}};
    }
    std::unique_ptr<trust::LeaseStore> open() { return engine().trust().open_leases().value(); }

    FakeClock clock;
    std::unique_ptr<trust::LeaseStore> store = open();
};

TEST_P(LeaseStoreTest, ALeaseComesBackAsItWasAfterARestart) {
    const Lease made = lease("l1", 1h);
    ASSERT_TRUE(store->insert(made));
    store = open();
    EXPECT_EQ(store->load_live(clock.system_now()).value(), std::vector{made});
}

TEST_P(LeaseStoreTest, OnlyTheLivingAreLoaded) {
    ASSERT_TRUE(store->insert(lease("short", 1s)));
    ASSERT_TRUE(store->insert(lease("renewed", 1s)));
    ASSERT_TRUE(store->insert(lease("revoked", 1h)));
    ASSERT_TRUE(store->set_expiry("renewed", clock.system_now() + 1h));
    const std::vector<trust::LeaseEnd> ends{
        {.lease_id = "revoked", .at = clock.system_now(), .reason = "lost"}};
    ASSERT_TRUE(store->end(ends));
    clock.advance(2s);
    const auto live = store->load_live(clock.system_now()).value();
    ASSERT_EQ(live.size(), 1u);
    EXPECT_EQ(live[0].id, "renewed");
}

TEST_P(LeaseStoreTest, TheFirstEndCountsAndOldLeasesAreForgotten) {
    ASSERT_TRUE(store->insert(lease("l1", 1h)));
    ASSERT_TRUE(store->insert(lease("l2", 10h)));
    const SystemTime now = clock.system_now();
    ASSERT_TRUE(
        store->end(std::vector<trust::LeaseEnd>{{.lease_id = "l1", .at = now, .reason = "first"}}));
    ASSERT_TRUE(store->end(
        std::vector<trust::LeaseEnd>{{.lease_id = "l1", .at = now + 5h, .reason = "second"}}));
    ASSERT_TRUE(store->forget(now + 1h));
    ASSERT_TRUE(store->insert(lease("l1", 1h))) << "its row is gone";
    EXPECT_FALSE(store->insert(lease("l2", 1h)));
}

CRAB_EACH_ENGINE(LeaseStoreTest);

}  // namespace
}  // namespace crab::store
