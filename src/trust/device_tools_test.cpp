#include "trust/device_tools.hpp"

#include <gtest/gtest.h>

namespace crab::trust {
namespace {

using Names = std::vector<std::string>;
using Added = DeviceTools::Added;

struct FakeStore final : DeviceToolStore {
    Result<std::vector<DeviceToolRecord>> load() override { return kept; }
    Result<void> put(std::span<const DeviceToolRecord> records) override {
        if (failing) return fail(ErrorCode::kUnavailable, "the disk is full");
        for (const DeviceToolRecord& record : records) {
            std::erase_if(kept, [&](const auto& each) {
                return each.device == record.device && each.tool == record.tool;
            });
            kept.push_back(record);
        }
        return {};
    }
    std::vector<DeviceToolRecord> kept;
    bool failing = false;
};

struct DeviceToolsTest : testing::Test {
    FakeStore store;
    std::unique_ptr<DeviceTools> tools = DeviceTools::load(store).value();
    Names offer(unsigned connection, const Names& names, const std::string& form = "{}",
                Added added = Added::kWait) {
        std::vector<OfferedDeviceTool> offered;
        for (const std::string& name : names) offered.push_back({name, form});
        return tools->offer("phone", ConnectionId{connection}, offered, added);
    }
    std::optional<std::string> before(std::string_view tool) const {
        return tools->approved_form("phone", tool);
    }
    void restart() { tools = DeviceTools::load(store).value(); }
};

TEST_F(DeviceToolsTest, ADeviceIsKnownForAllThatItsFirstConnectionOffers) {
    EXPECT_EQ(offer(1, {"camera"}), Names{});
    EXPECT_EQ(offer(1, {"camera", "sms"}), Names{}) << "lists grow while it connects";
    EXPECT_EQ(offer(2, {"camera", "sms"}), Names{});
}

TEST_F(DeviceToolsTest, WhatAKnownDeviceAddsWaitsUntilItIsApproved) {
    offer(1, {"camera"});
    EXPECT_EQ(offer(2, {"camera", "sms", "shell"}), (Names{"sms", "shell"}));
    EXPECT_EQ(tools->waiting("phone"), (Names{"shell", "sms"}));
    EXPECT_EQ(tools->approve("phone", Names{"sms"}).value(), Names{"sms"});
    EXPECT_EQ(offer(3, {"camera", "sms", "shell"}), Names{"shell"});
    EXPECT_EQ(tools->approve("phone", {}).value(), Names{"shell"});
    EXPECT_EQ(tools->approve("nobody", {}).value(), Names{});
}

TEST_F(DeviceToolsTest, ItIsKnownAfterARestart) {
    offer(1, {"camera"});
    offer(2, {"sms"});
    ASSERT_TRUE(tools->flush());
    restart();
    EXPECT_EQ(offer(1, {"camera", "sms", "shell"}), (Names{"sms", "shell"}));
}

TEST_F(DeviceToolsTest, WhatTheStoreRefusesIsStoredLater) {
    offer(1, {"camera"});
    store.failing = true;
    EXPECT_FALSE(tools->flush());
    store.failing = false;
    ASSERT_TRUE(tools->flush());
    EXPECT_EQ(store.kept.size(), 1u);
}

TEST_F(DeviceToolsTest, WhereNobodyIsAskedWhatAKnownDeviceAddsIsKnown) {
    offer(1, {"camera"});
    const Names added{"camera", "sms"};
    EXPECT_EQ(offer(2, added, "{}", Added::kKnown), Names{});
    EXPECT_EQ(offer(3, {"sms", "shell"}), Names{"shell"}) << "asked again, only what is new";
    EXPECT_EQ(offer(4, {"shell"}, "{}", Added::kKnown), Names{});
    ASSERT_TRUE(tools->flush());
    EXPECT_TRUE(tools->is_stored());
}

TEST_F(DeviceToolsTest, WhatItHadBeforeARestartIsAwayUntilItOffersAnything) {
    offer(1, {"camera"});
    offer(2, {"sms"});  // waits
    ASSERT_TRUE(tools->flush());
    EXPECT_EQ(tools->away_with("camera"), Names{}) << "it is known to be here";
    restart();
    EXPECT_EQ(tools->away_with("camera"), Names{"phone"});
    EXPECT_EQ(tools->away_with("sms"), Names{}) << "nobody could call it";
    EXPECT_FALSE(tools->has_offered("phone"));
    offer(1, {});
    EXPECT_TRUE(tools->has_offered("phone"));
    EXPECT_EQ(tools->away_with("camera"), Names{});
}

TEST_F(DeviceToolsTest, WhatAKnownDeviceChangesWaitsBesideWhatWasApproved) {
    offer(1, {"camera"}, "old");
    EXPECT_EQ(offer(1, {"camera"}, "old2"), Names{}) << "over its first connection it may";
    EXPECT_EQ(offer(2, {"camera"}, "old2"), Names{});
    EXPECT_EQ(offer(2, {"camera"}, "new"), Names{"camera"});
    EXPECT_EQ(tools->waiting("phone"), Names{"camera"});
    EXPECT_EQ(before("camera"), "old2");
    EXPECT_EQ(offer(3, {"camera"}, "newer"), Names{"camera"});
    ASSERT_TRUE(tools->flush());
    restart();
    EXPECT_EQ(before("camera"), "old2");
    EXPECT_EQ(offer(4, {"camera"}, "newer"), Names{"camera"});
    EXPECT_EQ(tools->approve("phone", {}).value(), Names{"camera"});
    EXPECT_EQ(offer(5, {"camera"}, "newer"), Names{});
    EXPECT_EQ(offer(5, {"camera"}, "old2"), Names{"camera"}) << "the former one is a change too";
}

TEST_F(DeviceToolsTest, AChangeThatIsTakenBackWaitsNoMore) {
    offer(1, {"camera"}, "old");
    EXPECT_EQ(offer(2, {"camera"}, "new"), Names{"camera"});
    EXPECT_EQ(offer(3, {"camera"}, "old"), Names{});
    EXPECT_EQ(tools->waiting("phone"), Names{});
    EXPECT_EQ(offer(4, {"camera"}, "new"), Names{"camera"});
}

TEST_F(DeviceToolsTest, ANewToolThatWaitsHasNothingBeforeIt) {
    offer(1, {"camera"});
    EXPECT_EQ(offer(2, {"sms"}, "one"), Names{"sms"});
    EXPECT_EQ(before("sms"), std::nullopt);
    EXPECT_EQ(offer(3, {"sms"}, "two"), Names{"sms"});
    EXPECT_EQ(tools->approve("phone", {}).value(), Names{"sms"});
    EXPECT_EQ(before("sms"), "two") << "what it was last";
    EXPECT_EQ(offer(4, {"sms"}, "one"), Names{"sms"});
}

TEST_F(DeviceToolsTest, WhatAnEarlierVersionLetInIsTakenAsItComesOnce) {
    store.kept = {{.device = "phone", .tool = "camera", .waiting = false}};
    restart();
    EXPECT_EQ(offer(1, {"camera"}, "one"), Names{});
    EXPECT_EQ(offer(1, {"camera"}, "two"), Names{"camera"});
}

TEST_F(DeviceToolsTest, WhereNobodyIsAskedAChangeIsLetIn) {
    offer(1, {"camera"}, "old");
    EXPECT_EQ(offer(2, {"camera"}, "new", Added::kKnown), Names{});
    EXPECT_EQ(offer(3, {"camera"}, "new"), Names{}) << "asked again, only what changes from now";
    EXPECT_EQ(offer(3, {"camera"}, "old"), Names{"camera"});
}

TEST_F(DeviceToolsTest, FormsThatAreTooMuchToKeepAreKnownByTheirDigests) {
    const std::string big(DeviceTools::kMostBytes / 2 + 1, 'x');
    offer(1, {"a", "b"}, big);
    EXPECT_EQ(offer(2, {"a", "b"}, big), Names{});
    EXPECT_EQ(offer(2, {"b"}, big + "y"), Names{"b"});
    EXPECT_EQ(before("a"), big);
    EXPECT_EQ(before("b"), std::nullopt);
    ASSERT_TRUE(tools->flush());
    restart();
    EXPECT_EQ(offer(3, {"b"}, big), Names{});
}

TEST_F(DeviceToolsTest, NamesWithoutEndFillNothing) {
    offer(1, {"camera"});
    for (int i = 0; i < 3000; ++i) EXPECT_EQ(offer(2, {"n" + std::to_string(i)}).size(), 1u);
    EXPECT_EQ(tools->waiting("phone").size(), 1023u);
}

TEST_F(DeviceToolsTest, WhatAnotherGatewayApprovesIsReleasedHere) {
    offer(1, {"camera"});
    EXPECT_EQ(offer(2, {"camera", "sms"}), Names{"sms"});
    ASSERT_TRUE(tools->flush());
    const auto other = DeviceTools::load(store).value();
    const Names names{"sms"};
    ASSERT_TRUE(other->approve("phone", names));
    EXPECT_EQ(tools->waiting("phone"), names);
    const auto released = tools->refresh().value();
    ASSERT_EQ(released.size(), 1u);
    EXPECT_EQ(released[0].device, "phone");
    EXPECT_EQ(released[0].tools, names);
    EXPECT_EQ(tools->waiting("phone"), Names{});
    EXPECT_EQ(offer(3, {"camera", "sms"}), Names{});
    EXPECT_TRUE(tools->refresh()->empty()) << "once";
}

TEST_F(DeviceToolsTest, ADeviceThatAnotherGatewayKnowsIsKnownHereAndWhatIsNewHereStays) {
    const auto other = DeviceTools::load(store).value();
    const std::vector<OfferedDeviceTool> first{{"camera", "{}"}};
    EXPECT_TRUE(other->offer("phone", ConnectionId{7}, first, Added::kWait).empty());
    ASSERT_TRUE(other->flush());
    EXPECT_TRUE(tools->refresh()->empty());
    EXPECT_EQ(offer(1, {"camera", "sms"}), Names{"sms"}) << "this is not its first connection";
    EXPECT_TRUE(tools->refresh()->empty()) << "not stored yet, and not lost";
    EXPECT_EQ(tools->waiting("phone"), Names{"sms"});
}

}  // namespace
}  // namespace crab::trust
