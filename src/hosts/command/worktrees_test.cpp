#include "hosts/command/worktrees.hpp"

#include "hosts/command/worktree_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include <unistd.h>

namespace crab::command {
namespace {

namespace fs = std::filesystem;

TEST(WorktreesTest, TheBindingOfTheAgentCountsBeforeThatOfThePrincipalAndBeforeTheProviders) {
    Worktrees worktrees({{.id = "a/one", .path = "/one"}, {.id = "a/two", .path = "/two"}, {.id = "a/three", .path = "/three"}});
    EXPECT_EQ(worktrees.find("agent-1", "caller/ci", ""), nullptr);
    EXPECT_EQ(worktrees.find("agent-1", "caller/ci", "a/one")->path, "/one");
    worktrees.set_bindings({{"caller/ci", "a/two"}});
    EXPECT_EQ(worktrees.find("agent-1", "caller/ci", "a/one")->path, "/two");
    worktrees.set_bindings({{"caller/ci", "a/two"}, {"agent-1", "a/three"}});
    EXPECT_EQ(worktrees.find("agent-1", "caller/ci", "a/one")->path, "/three");
    EXPECT_EQ(worktrees.find("", "caller/ci", "a/one")->path, "/two");
}

TEST(WorktreesTest, ABindingToAWorktreeThatIsNoLongerConfiguredIsNone) {
    Worktrees worktrees({{.id = "a/one", .path = "/one"}});
    worktrees.set_bindings({{"caller/ci", "a/gone"}});
    EXPECT_EQ(worktrees.find("", "caller/ci", "a/one"), nullptr);
}

TEST(WorktreesTest, BindingsSurviveInTheirFile) {
    char name[] = "/tmp/crab-bindings-XXXXXX";
    const fs::path folder = ::mkdtemp(name);
    EXPECT_TRUE(load_bindings(folder / "worktrees.json").value().empty());
    const Worktrees::Bindings bindings{{"caller/ci", "a/one"}, {"agent \"x\"", "a/two"}};
    ASSERT_TRUE(store_bindings(folder / "worktrees.json", bindings));
    EXPECT_EQ(load_bindings(folder / "worktrees.json").value(), bindings);
    std::ofstream(folder / "worktrees.json") << "[]";
    EXPECT_FALSE(load_bindings(folder / "worktrees.json"));
    EXPECT_FALSE(store_bindings(folder / "no/such/folder", bindings));
    fs::remove_all(folder);
}

}  // namespace
}  // namespace crab::command
