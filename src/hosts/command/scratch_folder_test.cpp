#include "hosts/command/scratch_folder.hpp"

#include "base/process/test_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include <unistd.h>

namespace crab::command {
namespace {

namespace fs = std::filesystem;

class ScratchFolderTest : public testing::Test {
protected:
    const TestFolder made;
    const fs::path parent = made.path();
};

TEST_F(ScratchFolderTest, ItIsThisUsersAloneAndGoesWithTheObject) {
    fs::path path;
    {
        const auto scratch = ScratchFolder::make(parent);
        ASSERT_TRUE(scratch);
        path = scratch->path();
        EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
        std::ofstream(path / "file") << "x";
    }
    EXPECT_FALSE(fs::exists(path));
}

TEST_F(ScratchFolderTest, LeftoversGoAndWhatIsInUseOrNotOursStays) {
    const auto used = ScratchFolder::make(parent);
    ASSERT_TRUE(used);
    fs::create_directories(parent / "crab-command-killed/deep");
    std::ofstream(parent / "crab-command-killed/deep/file") << "x";
    fs::create_directory(parent / "other");
    fs::create_directory_symlink(parent / "other", parent / "crab-command-link");
    ScratchFolder::remove_leftovers(parent);
    EXPECT_FALSE(fs::exists(parent / "crab-command-killed"));
    EXPECT_TRUE(fs::exists(used->path()));
    EXPECT_TRUE(fs::exists(parent / "other")) << "a link is not followed";
}

}  // namespace
}  // namespace crab::command
