#include "hosts/command/sandbox.hpp"

#include "base/process/test_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace crab::command {
namespace {

namespace fs = std::filesystem;

class FindInit : public testing::Test {
protected:
    void put(const fs::path& where, fs::perms mode = fs::perms::owner_all) {
        std::ofstream(where / "crab-sandbox-init") << "#!/bin/true\n";
        fs::permissions(where / "crab-sandbox-init", mode);
    }
    TestFolder folder;
};

TEST_F(FindInit, LiesBesideTheProgramOrAboveIt) {
    fs::create_directories(folder / "build/src/tests");
    put(folder / "build");
    EXPECT_EQ(find_init_from(folder / "build"), folder / "build/crab-sandbox-init");
    EXPECT_EQ(find_init_from(folder / "build/src/tests"), folder / "build/crab-sandbox-init");
}

TEST_F(FindInit, IsNotTakenFromAFolderWhereEverybodyMayWrite) {
    fs::create_directories(folder / "shared/mine");
    put(folder / "shared");
    fs::permissions(folder / "shared", fs::perms::all | fs::perms::sticky_bit);
    EXPECT_NE(find_init_from(folder / "shared"), folder / "shared/crab-sandbox-init");
    EXPECT_NE(find_init_from(folder / "shared/mine"), folder / "shared/crab-sandbox-init");
}

TEST_F(FindInit, IsNotTakenWhenEverybodyMayChangeIt) {
    put(folder.path(), fs::perms::all);
    EXPECT_NE(find_init_from(folder.path()), folder / "crab-sandbox-init");
}

}  // namespace
}  // namespace crab::command
