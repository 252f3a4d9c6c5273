#include "hosts/command/worktrees.hpp"

#include "base/process/test_folder.hpp"
#include "hosts/command/worktree_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include <unistd.h>

namespace crab::command {
namespace {

namespace fs = std::filesystem;

TEST(WorktreesTest, TheBindingOfTheAgentCountsBeforeThatOfThePrincipalAndBeforeTheProviders) {
    Worktrees worktrees({{.id = "a/one", .path = "/one"},
                         {.id = "a/two", .path = "/two"},
                         {.id = "a/three", .path = "/three"}});
    EXPECT_EQ(worktrees.find("agent-1", "caller/ci", ""), nullptr);
    EXPECT_EQ(worktrees.find("agent-1", "caller/ci", "a/one")->path, "/one");
    worktrees.set_bindings({.principals = {{"caller/ci", "a/two"}}, .agents = {}});
    EXPECT_EQ(worktrees.find("agent-1", "caller/ci", "a/one")->path, "/two");
    worktrees.set_bindings(
        {.principals = {{"caller/ci", "a/two"}}, .agents = {{"agent-1", "a/three"}}});
    EXPECT_EQ(worktrees.find("agent-1", "caller/ci", "a/one")->path, "/three");
    EXPECT_EQ(worktrees.find("", "caller/ci", "a/one")->path, "/two");
}

TEST(WorktreesTest, APrincipalIsNeverTheAgentOfItsName) {
    Worktrees worktrees({{.id = "a/one", .path = "/one"}, {.id = "a/two", .path = "/two"}});
    worktrees.set_bindings({.principals = {{"x", "a/one"}, {"caller/ci", "a/one"}}, .agents = {}});
    EXPECT_EQ(worktrees.find("x", "caller/other", ""), nullptr);
    EXPECT_EQ(worktrees.find("caller/ci", "caller/other", ""), nullptr);
    worktrees.set_bindings({.principals = {}, .agents = {{"x", "a/two"}, {"", "a/two"}}});
    EXPECT_EQ(worktrees.find("", "x", ""), nullptr);
    EXPECT_EQ(worktrees.find("x", "caller/other", "")->id, "a/two");
}

TEST(WorktreesTest, ABindingToAWorktreeThatIsNoLongerConfiguredIsNone) {
    Worktrees worktrees({{.id = "a/one", .path = "/one"}});
    worktrees.set_bindings({.principals = {{"caller/ci", "a/gone"}}, .agents = {}});
    EXPECT_EQ(worktrees.find("", "caller/ci", "a/one"), nullptr);
}

TEST(WorktreesTest, BindingsSurviveInTheirFile) {
    const TestFolder folder;
    EXPECT_EQ(load_bindings(folder / "worktrees.json").value().size(), 0u);
    const Worktrees::Bindings bindings{.principals = {{"caller/ci", "a/one"}},
                                       .agents = {{"agent \"x\"", "a/two"}}};
    std::ofstream(folder / "worktrees.json") << R"({"caller/ci":"a/one","agent \"x\"":"a/two"})";
    EXPECT_EQ(load_bindings(folder / "worktrees.json").value(), bindings) << "a file of before";
    ASSERT_TRUE(store_bindings(folder / "worktrees.json", bindings));
    EXPECT_EQ(load_bindings(folder / "worktrees.json").value(), bindings);
    for (const char* wrong : {"[]", R"({"agents":{"x":1}})", R"({"others":{}})"}) {
        std::ofstream(folder / "worktrees.json") << wrong;
        EXPECT_FALSE(load_bindings(folder / "worktrees.json")) << wrong;
    }
    EXPECT_FALSE(store_bindings(folder / "no/such/folder", bindings));
}

}  // namespace
}  // namespace crab::command
