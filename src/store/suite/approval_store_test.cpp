#include "core/approvals/approval_store.hpp"
#include "base/test_clock.hpp"
#include "store/suite/test_engine.hpp"

#include <gtest/gtest.h>

namespace crab::store {
namespace {

using core::RememberedApproval;

struct ApprovalStoreTest : StoreSuite {
    RememberedApproval decision(std::string id, bool allow) const {
        return {.id = std::move(id),
                .allow = allow,
                .scope = core::ApprovalScope::kAlways,
                .subject = {.tenant = "home",
                            .principal = "caller/ann",
                            .tool = "phone__sms",
                            .source = "device/phone",
                            .place = "garden/main",
                            .rule = "policy[0]: \"sms\"",
                            .session = {},
                            .network = core::Network::kFullAccess,
                            .privilege = core::Privilege::kElevated,
                            .content = {}},
                .by = "local/1000",
                .at = std::chrono::floor<Milliseconds>(clock.system_now()),
                .until = {}};
    }
    std::vector<std::string> ids() {
        std::vector<std::string> all;
        for (const RememberedApproval& each : store->load().value()) all.push_back(each.id);
        return all;
    }
    std::unique_ptr<core::ApprovalStore> open() {
        return engine().trust().open_approvals().value();
    }

    FakeClock clock;
    std::unique_ptr<core::ApprovalStore> store = open();
};

TEST_P(ApprovalStoreTest, ADecisionComesBackAsItWasAfterARestart) {
    const RememberedApproval made = decision("a1", true);
    ASSERT_TRUE(store->keep(made, {}));
    store = open();
    const auto kept = store->load().value();
    ASSERT_EQ(kept.size(), 1u);
    EXPECT_EQ(kept[0].subject, made.subject);
    EXPECT_TRUE(kept[0].allow);
    EXPECT_EQ(kept[0].by, made.by);
    EXPECT_EQ(kept[0].at, made.at);
}

TEST_P(ApprovalStoreTest, AKeptDecisionTakesThePlaceOfThoseBefore) {
    ASSERT_TRUE(store->keep(decision("a1", true), {}));
    ASSERT_TRUE(store->keep(decision("a2", false), {}));
    ASSERT_TRUE(store->keep(decision("a3", false), {"a1"}));
    EXPECT_EQ(ids(), (std::vector<std::string>{"a2", "a3"}));
    ASSERT_TRUE(store->forget("a2"));
    EXPECT_EQ(ids(), std::vector<std::string>{"a3"});
}

CRAB_EACH_ENGINE(ApprovalStoreTest);

}  // namespace
}  // namespace crab::store
