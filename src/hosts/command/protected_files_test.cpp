#include "hosts/command/protected_files.hpp"

#include "base/process/test_folder.hpp"
#include "base/scope_exit.hpp"
#include "hosts/command/mounted_paths.hpp"
#include "hosts/command/worktrees.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include <unistd.h>

namespace crab::command {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ProtectedFilesTest : public testing::Test {
protected:
    ProtectedFilesTest() {
        fs::create_directories(folder / "state/inner");
        fs::create_directories(folder / "work/inner");
        std::ofstream(folder / "secret") << "no\n";
    }
    FileHandle hold(std::string_view name) const { return FileHandle::open(folder / name).value(); }
    std::optional<fs::path> met(const ProtectedFiles& own, std::string_view name) const {
        return own.met_by(hold(name));
    }
    /// What the start says of two worktrees, or of one.
    std::string said(std::vector<std::string> names, const ProtectedFiles& own = {},
                     const ProtectedFiles& relied_on = {}) const {
        std::vector<Worktree> worktrees;
        for (const std::string& name : names)
            worktrees.push_back(
                {.id = "a/" + std::to_string(worktrees.size()), .path = folder / name});
        const auto held = hold_worktrees(std::move(worktrees), own, relied_on);
        return held ? "" : held.error().message;
    }
    const TestFolder made;
    const fs::path folder = made.path();
};

TEST_F(ProtectedFilesTest, AFolderMeetsWhatItContainsWhatItIsAndWhatItLiesIn) {
    const ProtectedFiles own({folder / "state", folder / "secret"});
    for (const char* name : {".", "state", "state/inner"})
        EXPECT_EQ(met(own, name), folder / "state") << name;
    EXPECT_EQ(met(own, "work"), std::nullopt);
    EXPECT_EQ(met(ProtectedFiles({folder / "secret"}), "."), folder / "secret");
    EXPECT_EQ(met(ProtectedFiles({folder / "not/yet"}), "."), folder / "not/yet")
        << "what is made later counts as well";
}

TEST_F(ProtectedFilesTest, LinksHideNothing) {
    fs::create_directory_symlink(folder / "state", folder / "work/link");
    EXPECT_EQ(met(ProtectedFiles({folder / "work/link/inner"}), "state"),
              folder / "work/link/inner")
        << "where the link leads";
    fs::create_symlink(folder / "secret", folder / "work/named");
    EXPECT_EQ(met(ProtectedFiles({folder / "work/named"}), "work"), folder / "work/named")
        << "whoever changes the link changes what is read";
}

TEST_F(ProtectedFilesTest, WhatIsMovedIsStillKnown) {
    const ProtectedFiles own({folder / "state", folder / "secret"});
    fs::create_directory(folder / "work/deep");
    fs::rename(folder / "state", folder / "work/deep/other");
    fs::rename(folder / "secret", folder / "work/harmless");
    EXPECT_EQ(met(own, "work"), folder / "state");
    EXPECT_THAT(own.places(), testing::IsSupersetOf({folder / "work/deep/other",
                                                     folder / "work/harmless", folder / "state"}));
}

TEST_F(ProtectedFilesTest, ASecondNameInAWorktreeIsFound) {
    const ProtectedFiles own({folder / "secret"});
    EXPECT_EQ(own.linked_in(hold("work")), std::nullopt);
    fs::create_hard_link(folder / "secret", folder / "work/inner/harmless");
    EXPECT_EQ(own.linked_in(hold("work")), folder / "secret");
    EXPECT_THAT(said({"work"}, own), HasSubstr("hard link"));
}

TEST_F(ProtectedFilesTest, WorktreesMayNotOverlap) {
    EXPECT_EQ(said({"work", "state"}), "");
    EXPECT_THAT(said({"work", "work/inner"}), HasSubstr("overlaps"));
    EXPECT_THAT(said({"work/inner", "work"}), HasSubstr("overlaps"));
    EXPECT_THAT(said({"work", "work"}), HasSubstr("overlaps"));
    fs::create_directory_symlink(folder / "work/inner", folder / "elsewhere");
    EXPECT_THAT(said({"work", "elsewhere"}), HasSubstr("overlaps"));
    EXPECT_THAT(said({"work/../work/inner", "./work/."}), HasSubstr("overlaps"));
}

TEST_F(ProtectedFilesTest, AWorktreeMayNotMeetWhatIsCrabsOwnNorHoldWhatItRuns) {
    EXPECT_THAT(said({"state/inner"}, ProtectedFiles({folder / "state"})), HasSubstr("crab's own"));
    EXPECT_THAT(said({"work"}, {}, ProtectedFiles({folder / "work/inner/hook.py"})),
                HasSubstr("replace it"));
    EXPECT_THAT(said({"nowhere"}), HasSubstr("make it first"));
    EXPECT_THAT(said({"secret"}), HasSubstr("not a folder"));
}

TEST_F(ProtectedFilesTest, AHeldFolderStaysItselfWhateverItsNameBecomes) {
    const FileHandle held = hold("work");
    fs::rename(folder / "work", folder / "moved");
    fs::create_directory_symlink(folder / "state", folder / "work");
    EXPECT_EQ(held.place(), folder / "moved");
    EXPECT_TRUE(fs::exists(held.link() + "/inner"));
    EXPECT_FALSE(FileHandle::open_exactly(folder / "work")) << "a link is not followed";
    fs::remove_all(folder / "moved");
    EXPECT_EQ(held.place(), fs::path());
}

TEST_F(ProtectedFilesTest, PlacesAreFoundThroughTheTableOfMounts) {
    std::ofstream(folder / "table")
        << "20 1 8:1 / " << (folder / "nowhere").string() << " rw - ext4 /dev/a rw\n"
        << "21 1 8:1 /x " << folder.string() << " rw - ext4 /dev/a rw\n"
        << "22 1 8:1 /x/state " << (folder / "work").string() << " rw - ext4 /dev/a rw\n"
        << "23 1 8:2 /x/state " << (folder / "state/inner").string() << " rw - ext4 /dev/b rw\n";
    // Of the second place the table tells that it is the first; here, where nothing is mounted, it
    // is another and does not count.
    EXPECT_THAT(MountedPaths(folder / "table").of(folder / "state"), ElementsAre(folder / "state"));
    EXPECT_THAT(MountedPaths().of("/"), Contains(fs::path("/")));
}

}  // namespace
}  // namespace crab::command
