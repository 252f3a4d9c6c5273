#include "core/call/tool_scope.hpp"

#include <gtest/gtest.h>

namespace crab::core {
namespace {

Tool tool(std::string name, std::string unique_name) {
    Tool made;
    made.spec.name = std::move(name);
    made.unique_name = std::move(unique_name);
    return made;
}

TEST(ToolScope, HoldsEverythingUnlessItIsTold) {
    EXPECT_TRUE(ToolScope().holds(tool("camera", "phone__camera")));
}

TEST(ToolScope, HoldsWhatIsAllowedByEitherOfItsNames) {
    const ToolScope scope({Glob("memory.*"), Glob("phone__*")}, {});
    EXPECT_TRUE(scope.holds(tool("memory.append", "memory.append")));
    EXPECT_TRUE(scope.holds(tool("camera", "phone__camera")));
    EXPECT_FALSE(scope.holds(tool("camera", "laptop__camera")));
}

TEST(ToolScope, DeniesByEitherOfItsNamesWhateverIsAllowed) {
    const ToolScope scope({Glob("*")}, {Glob("camera"), Glob("laptop__*")});
    EXPECT_FALSE(scope.holds(tool("camera", "phone__camera")));
    EXPECT_FALSE(scope.holds(tool("files", "laptop__files")));
    EXPECT_TRUE(scope.holds(tool("files", "phone__files")));
}

}  // namespace
}  // namespace crab::core
