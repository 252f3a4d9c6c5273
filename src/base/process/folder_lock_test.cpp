#include "base/process/folder_lock.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace crab {
namespace {

class FolderLockTest : public testing::Test {
protected:
    FolderLockTest() {
        std::string made = std::filesystem::temp_directory_path() / "crab_lock_XXXXXX";
        if (::mkdtemp(made.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
        root = made;
    }
    ~FolderLockTest() override { std::filesystem::remove_all(root); }

    std::filesystem::path root;
};

TEST_F(FolderLockTest, AFolderIsMadeForItsOwnerAndHeldByOneUntilThatLetsGo) {
    const auto folder = root / "a" / "state";
    auto first = lock_folder(folder);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(std::filesystem::status(folder).permissions(), std::filesystem::perms::owner_all);
    const auto second = lock_folder(folder);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(second.error().message.find("another process uses"), std::string::npos);
    first->close();
    EXPECT_TRUE(lock_folder(folder));
}

TEST_F(FolderLockTest, AProcessThatIsKilledHoldsItNoLonger) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t holder = ::fork();
    if (holder == 0) {
        const auto held = lock_folder(root);
        const char said = held ? 'y' : 'n';
        if (::write(ready[1], &said, 1) == 1) ::pause();
        ::_exit(1);
    }
    char said = 0;
    EXPECT_EQ(::read(ready[0], &said, 1), 1);
    EXPECT_EQ(said, 'y');
    EXPECT_FALSE(lock_folder(root));
    ::kill(holder, SIGKILL);
    ::waitpid(holder, nullptr, 0);
    EXPECT_TRUE(lock_folder(root));
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_F(FolderLockTest, WhatCannotBeWrittenSaysSo) {
    const auto locked = lock_folder("/proc/crab");
    ASSERT_FALSE(locked);
    EXPECT_NE(locked.error().message.find("cannot be written"), std::string::npos);
}

}  // namespace
}  // namespace crab
