#include "hosts/command/worktree_path.hpp"

#include "base/descriptor.hpp"
#include "base/process/test_folder.hpp"
#include "base/scope_exit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace crab::command {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class WorktreePathTest : public testing::Test {
protected:
    WorktreePathTest() {
        fs::create_directories(folder / "tree/docs");
        std::ofstream(folder / "tree/docs/notes.md") << "a b\n";
        std::ofstream(folder / "secret") << "no\n";
        directory = Descriptor(::open((folder / "tree").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    Result<void> check(std::string_view path) {
        return check_worktree_path(directory.get(), "path", path);
    }

    const TestFolder made;
    const fs::path folder = made.path();
    Descriptor directory;
};

TEST_F(WorktreePathTest, WhatLiesInTheWorktreeIsAccepted) {
    fs::create_symlink("docs/notes.md", folder / "tree/link.md");
    for (const char* path : {"docs/notes.md", "docs", ".", "./docs//notes.md", "link.md",
                             "docs/new.md", "a..b", "..."})
        EXPECT_TRUE(check(path)) << path;
}

TEST_F(WorktreePathTest, AbsolutePathsAndDotDotAreRefused) {
    for (const char* path :
         {"/etc/passwd", "..", "../secret", "docs/../notes.md", "docs/..", "./../secret", ""}) {
        const auto checked = check(path);
        ASSERT_FALSE(checked) << path;
        EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgs);
        EXPECT_THAT(checked.error().message, HasSubstr("/path: "));
    }
}

TEST_F(WorktreePathTest, SymbolicLinksThatLeaveAreRefused) {
    fs::create_symlink("../secret", folder / "tree/relative");
    fs::create_symlink("/etc/passwd", folder / "tree/absolute");
    fs::create_directory_symlink("..", folder / "tree/up");
    fs::create_symlink("loop", folder / "tree/loop");
    for (const char* path : {"relative", "absolute", "up/secret", "loop"})
        EXPECT_FALSE(check(path)) << path;
}

TEST_F(WorktreePathTest, APipeOrASocketIsNoFileToRead) {
    ASSERT_EQ(::mkfifo((folder / "tree/pipe").c_str(), 0600), 0);
    EXPECT_FALSE(check("pipe"));
    ASSERT_EQ(::mknod((folder / "tree/socket").c_str(), S_IFSOCK | 0600, 0), 0);
    EXPECT_FALSE(check("socket"));
}

TEST_F(WorktreePathTest, DevicesAreRefused) {
    if (::mknod((folder / "tree/null").c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0)
        GTEST_SKIP() << "making a device node needs root";
    EXPECT_FALSE(check("null"));
}

TEST_F(WorktreePathTest, ALinkThatTurnsWhileItIsLookedAtNeverLeadsOutside) {
    std::atomic<bool> stop{false};
    std::thread turning([&] {
        while (!stop) {
            fs::rename(folder / "tree/docs", folder / "tree/away");
            fs::create_directory_symlink("..", folder / "tree/docs");
            fs::remove(folder / "tree/docs");
            fs::rename(folder / "tree/away", folder / "tree/docs");
        }
    });
    const ScopeExit join([&] {
        stop = true;
        turning.join();
    });
    // `docs/secret` exists by way of the link only: it is refused or not there, never found.
    for (int i = 0; i < 2'000; ++i) {
        const auto checked = check("docs/secret");
        if (!checked) EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgs);
    }
}

TEST_F(WorktreePathTest, ArgumentsAreFoundByTheirFormatAndListsAreLookedThrough) {
    const auto schema =
        json::Value::parse(R"({"properties":{"a":{"type":"string","format":"worktree-path"},)"
                           R"("b":{"items":{"format":"worktree-path"}},"c":{"format":"uri"}}})")
            .value();
    const auto names = worktree_path_arguments(schema);
    EXPECT_THAT(names, testing::ElementsAre("a", "b"));
    json::Parser parser;
    EXPECT_TRUE(check_worktree_paths(
        directory.get(), names,
        parser.parse(R"({"a":"docs","b":["docs/notes.md"],"c":"/x"})").value().element()));
    EXPECT_FALSE(check_worktree_paths(
        directory.get(), names, parser.parse(R"({"b":["docs","../secret"]})").value().element()));
}

}  // namespace
}  // namespace crab::command
