#include "core/registry/ambiguous_names.hpp"

#include "core/call/test_tools.hpp"

#include <gtest/gtest.h>

namespace crab::core {
namespace {

TEST(AmbiguousNames, AreThosePlainNamesThatASecondSourceOffers) {
    Registry registry;
    const std::vector<ToolRef> phone{tool_of("camera", "phone", ConnectionId{1}),
                                     tool_of("sms", "phone", ConnectionId{1})};
    registry.replace(ConnectionId{1}, phone);
    EXPECT_TRUE(ambiguous_names(*registry.snapshot(), phone).empty());
    const std::vector<ToolRef> tablet{tool_of("camera", "tablet", ConnectionId{2})};
    registry.replace(ConnectionId{2}, tablet);
    const auto found = ambiguous_names(*registry.snapshot(), tablet);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].name, "camera");
    EXPECT_NE(found[0].error.find("tablet__camera"), std::string::npos) << found[0].error;
    std::vector<std::string> told;
    log_ambiguous_names(*registry.snapshot(), tablet, "device/tablet", told);
    EXPECT_EQ(told, std::vector<std::string>{"camera"});
}

}  // namespace
}  // namespace crab::core
