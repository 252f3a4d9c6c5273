#include "hosts/command/worktree_tools.hpp"

#include "json/parser.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::command {
namespace {

using testing::Contains;
using testing::Each;
using testing::Field;
using testing::Not;

std::vector<std::string> names_of(const std::vector<CommandTool>& tools) {
    std::vector<std::string> names;
    for (const CommandTool& tool : tools) names.push_back(tool.spec.name);
    return names;
}

TEST(WorktreeToolsTest, RunIsThereOnlyWhenItIsWanted) {
    EXPECT_THAT(names_of(worktree_tools(false)), Not(Contains("run")));
    EXPECT_THAT(names_of(worktree_tools(true)), Contains("run"));
}

TEST(WorktreeToolsTest, AllButRunAreTheTightestAndWithoutEffects) {
    for (const CommandTool& tool : worktree_tools(false)) {
        EXPECT_EQ(tool.limits.defaults.privilege, core::Privilege::kMinimal) << tool.spec.name;
        EXPECT_EQ(tool.limits.defaults.network, core::Network::kDenyAll) << tool.spec.name;
        EXPECT_FALSE(tool.spec.side_effects) << tool.spec.name;
        EXPECT_TRUE(tool.spec.needs_worktree) << tool.spec.name;
        EXPECT_TRUE(core::make_tool(tool.spec)) << tool.spec.name;
    }
}

TEST(WorktreeToolsTest, NoArgumentOfACallReadsAsAnOptionOrAnAssignment) {
    json::Parser parser;
    for (const CommandTool& tool : worktree_tools(false)) {
        const auto words = tool.argv.expand(
            parser.parse(R"({"path":"--x=y","pattern":"--pre=sh","files":"--z","count":1})")
                .value()
                .element());
        if (!words) continue;   // refused is as good
        EXPECT_THAT(*words, Each(Not(testing::AnyOf(testing::StartsWith("--x"),
                                                    testing::StartsWith("--pre"),
                                                    testing::StartsWith("--z")))))
            << tool.spec.name;
    }
}

}  // namespace
}  // namespace crab::command
