#include "agent/tool_names.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace crab::agent {
namespace {

TEST(ToolNames, LeaveAFitNameAlone) {
    const std::array<std::string_view, 2> tools{"list_devices", "phone__camera-2"};
    const ToolNames names(tools);
    EXPECT_EQ(names.to_model("phone__camera-2"), "phone__camera-2");
    EXPECT_EQ(names.to_gateway("phone__camera-2"), "phone__camera-2");
}

TEST(ToolNames, ReplaceWhatVendorsRefuseAndLeadBack) {
    const std::array<std::string_view, 1> tools{"memory.append"};
    const ToolNames names(tools);
    EXPECT_EQ(names.to_model("memory.append"), "memory_append");
    EXPECT_EQ(names.to_gateway("memory_append"), "memory.append");
}

TEST(ToolNames, TellApartWhatWouldBeEqualWhateverTheOrder) {
    const std::array<std::string_view, 3> one{"a.b", "a_b", "a..b"};
    const std::array<std::string_view, 3> other{"a_b", "a..b", "a.b"};
    const ToolNames names(one);
    EXPECT_EQ(names.to_gateway("a_b"), "a_b");
    EXPECT_EQ(names.to_gateway(names.to_model("a.b")), "a.b");
    EXPECT_EQ(names.to_model("a.b"), ToolNames(other).to_model("a.b"));
}

TEST(ToolNames, BeginWithALetterAsSomeVendorsWant) {
    const std::array<std::string_view, 2> tools{"3d_print", "_3d_print"};
    const ToolNames names(tools);
    EXPECT_EQ(names.to_model("3d_print"), "_3d_print_2");
    EXPECT_EQ(names.to_gateway("_3d_print_2"), "3d_print");
}

TEST(ToolNames, StayWithin64CharactersEvenForAThousandLongNamesThatBeginAlike) {
    std::vector<std::string> owned;
    for (int i = 0; i < 1'000; ++i)
        owned.push_back(std::string(100, 'x') + "." + std::to_string(i));
    std::vector<std::string_view> tools(owned.begin(), owned.end());
    const ToolNames names(tools);
    std::set<std::string> told;
    for (const auto& name : owned) {
        const std::string shown = names.to_model(name);
        EXPECT_LE(shown.size(), ToolNames::kMost);
        EXPECT_EQ(names.to_gateway(shown), name);
        told.insert(shown);
    }
    EXPECT_EQ(told.size(), owned.size());
}

TEST(ToolNames, MakeAnEarlierToolsNameFitAndLeaveAnInventedOne) {
    const ToolNames names;
    EXPECT_EQ(names.to_model("gone.tool"), "gone_tool");
    EXPECT_EQ(names.to_model(""), "_");
    EXPECT_EQ(names.to_model("3d.print"), "_3d_print");
    EXPECT_EQ(names.to_model("-x"), "_-x");
    EXPECT_EQ(names.to_gateway("invented"), "invented");
}

}  // namespace
}  // namespace crab::agent
