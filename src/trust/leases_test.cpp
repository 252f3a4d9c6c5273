#include "trust/leases.hpp"

#include "base/test_clock.hpp"
#include "trust/test_lease_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::trust {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::string_view kLog = "subscriber/log";
constexpr std::string_view kTick = "events.subscribe:cron.triggered";
constexpr ActionScope kHere{.tenant = "default", .agent_id = "a", .session_id = "s"};

class LeasesTest : public testing::Test {
protected:
    std::unique_ptr<Leases> load() {
        return std::move(
            Leases::load(store, clock, {}, [this](std::string_view what, const Lease& lease) {
                told.emplace_back(what, lease.revoke_reason);
            }).value());
    }
    Lease make(LeaseRequest changed = {}, std::string_view owner = kLog) {
        changed.tenant_id = "default", changed.agent_id = "a", changed.session_id = "s";
        if (changed.capabilities.empty()) changed.capabilities = {"events.subscribe:cron.*"};
        return leases->make(owner, std::move(changed)).value();
    }
    bool covers(const Lease& lease, std::string_view action = kTick, ActionScope scope = kHere,
                std::string_view owner = kLog) {
        core::Principal principal{.id = std::string(owner),
                                  .tenant = {},
                                  .roles = {},
                                  .proof = core::Proof::kCertificate,
                                  .device = {},
                                  .credential_id = {}};
        return !leases->refuses(lease.id, principal, action, scope);
    }
    std::string stored_reason(const Lease& lease) { return store.find(lease.id)->revoke_reason; }

    FakeClock clock;
    LeaseStoreMemory store;
    std::vector<std::pair<std::string, std::string>> told;
    std::unique_ptr<Leases> leases = load();
};

TEST_F(LeasesTest, ALeaseCoversItsCapabilitiesInItsScopeForItsOwner) {
    const Lease lease = make();
    EXPECT_TRUE(covers(lease));
    EXPECT_TRUE(covers(lease, "events.subscribe:cron.*"));
    EXPECT_TRUE(covers(lease, kTick, {}))
        << "what is empty is not bound to a tenant, agent or session yet";
    EXPECT_FALSE(covers(lease, "events.subscribe:heartbeat.tick"));
    EXPECT_FALSE(covers(lease, "events.subscribe:*"));
    EXPECT_FALSE(covers(lease, kTick, {.tenant = "other", .agent_id = "a", .session_id = "s"}));
    EXPECT_FALSE(covers(lease, kTick, {.tenant = "default", .agent_id = "b", .session_id = "s"}));
    EXPECT_FALSE(covers(lease, kTick, {.tenant = "default", .agent_id = "a", .session_id = "t"}));
    EXPECT_FALSE(covers(lease, kTick, kHere, "subscriber/other"));
    EXPECT_FALSE(covers(Lease{.id = "unknown"}));
}

TEST_F(LeasesTest, ItEndsByTime) {
    const Lease lease = make({.ttl = 10s});
    clock.advance(10s - 1ms);
    EXPECT_TRUE(covers(lease));
    clock.advance(1ms);
    EXPECT_FALSE(covers(lease));
    EXPECT_TRUE(leases->list("").empty());
}

TEST_F(LeasesTest, AClockThatIsSetBackLengthensItNotAndOneThatIsSetForwardEndsIt) {
    const Lease lease = make({.ttl = 10s});
    clock.set_system_clock(-1h);
    clock.advance(5s);
    EXPECT_TRUE(covers(lease));
    leases = load();
    EXPECT_TRUE(covers(lease))
        << "of what is left, a start knows the clock's word, but no more than its whole time";
    clock.advance(10s);
    EXPECT_FALSE(covers(lease));
    const Lease other = make({.ttl = 10s});
    clock.set_system_clock(1h);
    EXPECT_FALSE(covers(other));
}

TEST_F(LeasesTest, ItLivesAsLongAsConfiguredUnlessItAsksForLess) {
    EXPECT_EQ(make().expires_at, clock.system_now() + 1h);
    EXPECT_EQ(leases->make(kLog, {.capabilities = {std::string(kTick)}, .ttl = 25h}).error().code,
              ErrorCode::kInvalidArgs);
    EXPECT_EQ(leases->make(kLog, {.capabilities = {std::string(kTick)}, .ttl = 0ms}).error().code,
              ErrorCode::kInvalidArgs);
    EXPECT_EQ(leases->make(kLog, {.capabilities = {}}).error().code, ErrorCode::kInvalidArgs);
}

TEST_F(LeasesTest, ItIsRenewedInItsWindowOnly) {
    const Lease lease = make();
    EXPECT_EQ(leases->renew(lease.id).error().code, ErrorCode::kConflict);
    clock.advance(55min);
    EXPECT_EQ(leases->renew(lease.id).value().expires_at, clock.system_now() + 1h);
    EXPECT_EQ(store.find(lease.id)->expires_at, clock.system_now() + 1h);
    clock.advance(1h);
    EXPECT_EQ(leases->renew(lease.id).error().code, ErrorCode::kNotFound);
}

TEST_F(LeasesTest, RevokingAPeerEndsItsLeasesAndNoOthers) {
    const Lease one = make(), two = make(), others = make({}, "listener/chat");
    EXPECT_EQ(leases->revoke_owner(kLog, "revoked: lost").value(), 2u);
    EXPECT_FALSE(covers(one));
    EXPECT_FALSE(covers(two));
    EXPECT_TRUE(covers(others, kTick, kHere, "listener/chat"));
    EXPECT_EQ(stored_reason(one), "revoked: lost");
}

TEST_F(LeasesTest, ARevokedOneHasEndedEvenWhenTheDiskIsFullAndIsStoredLater) {
    const Lease lease = make();
    store.failure = Error{.code = ErrorCode::kUnavailable, .message = "the disk is full"};
    EXPECT_EQ(leases->revoke(lease.id, "").error().code, ErrorCode::kUnavailable);
    EXPECT_FALSE(covers(lease));
    EXPECT_FALSE(leases->make(kLog, {.capabilities = {std::string(kTick)}}));
    store.failure.reset();
    EXPECT_TRUE(leases->flush());
    EXPECT_TRUE(store.find(lease.id)->revoked_at);
    EXPECT_EQ(leases->revoke(lease.id, "").error().code, ErrorCode::kNotFound);
}

TEST_F(LeasesTest, ItEndsWithItsSession) {
    const SystemTime began = clock.system_now();
    const Lease lease = make();
    core::Principal owner;
    owner.tenant = TenantId("elsewhere");
    EXPECT_EQ(leases->end_session(owner, "s", began).value(), 0u)
        << "a session of that name in another tenant";
    owner.more_tenants = {TenantId(lease.tenant_id)};
    EXPECT_EQ(leases->end_session(owner, "other", began).value(), 0u);
    EXPECT_EQ(leases->end_session(owner, "s", began).value(), 1u);
    EXPECT_FALSE(covers(lease));
}

TEST_F(LeasesTest, WhoTakesTheNameOfASessionLaterEndsNoLeaseByDeletingIt) {
    const Lease lease = make();
    core::Principal another;
    another.tenant = TenantId(lease.tenant_id);
    clock.advance(1ms);
    EXPECT_EQ(leases->end_session(another, "s", clock.system_now()).value(), 0u);
    EXPECT_TRUE(covers(lease));
}

TEST_F(LeasesTest, ADisconnectBoundOneEndsWithTheLastStreamThatNamedIt) {
    const Lease bound = make({.disconnect_bound = true}), free = make();
    for (const Lease& lease : {bound, free}) {
        leases->stream_began(lease.id);
        leases->stream_began(lease.id);
        leases->stream_ended(lease.id);
        EXPECT_TRUE(covers(lease));
    }
    clock.advance(5min);
    EXPECT_TRUE(covers(bound)) << "an open stream names it all the time";
    leases->stream_ended(bound.id);
    leases->stream_ended(free.id);
    EXPECT_FALSE(covers(bound));
    EXPECT_TRUE(covers(free));
    EXPECT_TRUE(leases->flush());
    EXPECT_EQ(stored_reason(bound), "its stream has ended");
}

TEST_F(LeasesTest, ADisconnectBoundOneEndsWhenNothingNamesItFor30Seconds) {
    const Lease lease = make({.disconnect_bound = true}), named = make({.disconnect_bound = true});
    clock.advance(29s);
    EXPECT_TRUE(covers(named));
    clock.advance(1s);
    EXPECT_FALSE(covers(lease));
    EXPECT_TRUE(covers(named));
    EXPECT_TRUE(leases->flush());
    EXPECT_EQ(stored_reason(lease), "nothing named it");
    leases->stream_began(lease.id);
    EXPECT_FALSE(covers(lease));
}

TEST_F(LeasesTest, APeerHasSoManyAtOnceAndEndedOnesDoNotCount) {
    leases->set_options({.max_per_owner = 2});
    const Lease first = make();
    make({.ttl = 1min});
    EXPECT_EQ(leases->make(kLog, {.capabilities = {std::string(kTick)}}).error().code,
              ErrorCode::kRateLimited);
    make({}, "listener/chat");
    clock.advance(1min);
    make();
    ASSERT_TRUE(leases->revoke(first.id, ""));
    make();
    EXPECT_EQ(leases->list(kLog).size(), 2u);
    EXPECT_EQ(leases->list("").size(), 3u);
}

TEST_F(LeasesTest, WhatHappensToThemIsTold) {
    const Lease lease = make({.ttl = 1min});
    ASSERT_TRUE(leases->renew(lease.id));
    make({.ttl = 1s});
    clock.advance(1s);
    ASSERT_TRUE(leases->flush());
    ASSERT_TRUE(leases->revoke(lease.id, "done"));
    using Told = std::pair<std::string, std::string>;
    EXPECT_THAT(told,
                testing::ElementsAre(Told("granted", ""), Told("renewed", ""), Told("granted", ""),
                                     Told("expired", ""), Told("ended", "done")));
}

TEST_F(LeasesTest, TheyOutliveARestartUnlessTheyWereBoundToAConnection) {
    const Lease free = make(), bound = make({.disconnect_bound = true}), revoked = make();
    ASSERT_TRUE(leases->revoke(revoked.id, "done"));
    leases = load();
    EXPECT_EQ(leases->list(""), std::vector{free});
    EXPECT_FALSE(covers(bound));
    EXPECT_TRUE(leases->flush());
    EXPECT_THAT(stored_reason(bound), HasSubstr("started again"));
    EXPECT_EQ(stored_reason(revoked), "done");
}

TEST_F(LeasesTest, WhatAnotherNodeGrantsRenewsAndEndsCountsHere) {
    const auto other = Leases::load(store, clock, {}).value();
    const Lease lease = other
                            ->make(kLog, {.tenant_id = "default",
                                          .agent_id = "a",
                                          .session_id = "s",
                                          .capabilities = {"events.subscribe:cron.*"},
                                          .ttl = 1h})
                            .value();
    EXPECT_FALSE(covers(lease));
    ASSERT_TRUE(leases->refresh());
    EXPECT_TRUE(covers(lease));
    clock.advance(58min);
    ASSERT_TRUE(other->renew(lease.id));
    ASSERT_TRUE(leases->refresh());
    clock.advance(30min);
    EXPECT_TRUE(covers(lease)) << "it was renewed";
    ASSERT_TRUE(other->revoke(lease.id, "enough"));
    ASSERT_TRUE(leases->refresh());
    EXPECT_FALSE(covers(lease));
    EXPECT_EQ(
        told,
        (std::vector<std::pair<std::string, std::string>>{{"ended", "another node has ended it"}}));
    EXPECT_EQ(stored_reason(lease), "enough");
}

TEST_F(LeasesTest, WhatWasBoundToANodeThatHasEndedEnds) {
    const auto other = Leases::load(store, clock, {}).value();
    const Lease bound = other
                            ->make(kLog, {.tenant_id = "default",
                                          .agent_id = "a",
                                          .session_id = "s",
                                          .capabilities = {"events.subscribe:cron.*"},
                                          .disconnect_bound = true})
                            .value();
    ASSERT_TRUE(leases->refresh());  // the store gives it to others only then
    EXPECT_FALSE(covers(bound));
    ASSERT_TRUE(leases->flush());
    EXPECT_EQ(stored_reason(bound), "its node has ended");
}

TEST_F(LeasesTest, AnEndThatIsNotStoredYetIsNotTakenBack) {
    const Lease lease = make();
    store.failure = Error{.code = ErrorCode::kUnavailable, .message = "disk full"};
    EXPECT_FALSE(leases->revoke(lease.id, "enough"));
    store.failure.reset();
    ASSERT_TRUE(leases->refresh());
    EXPECT_FALSE(covers(lease));
    ASSERT_TRUE(leases->flush());
    EXPECT_EQ(stored_reason(lease), "enough");
}

}  // namespace
}  // namespace crab::trust
