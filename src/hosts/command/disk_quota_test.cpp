#include "hosts/command/disk_quota.hpp"

#include "base/descriptor.hpp"
#include "base/process/test_folder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace crab::command {
namespace {

namespace fs = std::filesystem;

const SteadyTime kPatient = std::chrono::steady_clock::now() + std::chrono::minutes(5);

class DiskQuotaTest : public testing::Test {
protected:
    void SetUp() override {
        folder = Descriptor(::open(tree.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    void TearDown() override {
        std::error_code ignored;
        fs::permissions(tree / "shut", fs::perms::owner_all, ignored);
    }
    void put(const fs::path& name, std::size_t bytes) {
        fs::create_directories((tree / name).parent_path());
        std::ofstream(tree / name) << std::string(bytes, 'x') << std::flush;
    }
    bool exceeded(std::uint64_t most) {
        DiskQuota quota(folder.get(), most);
        return *DiskQuota::Watch(quota).exceeded(kPatient);
    }
    const TestFolder made;
    const fs::path tree = made.path();
    Descriptor folder;
};

TEST_F(DiskQuotaTest, AllFilesBelowItCount) {
    put("a", 300'000);
    put("b/c/d", 300'000);
    EXPECT_FALSE(exceeded(1'000'000));
    EXPECT_TRUE(exceeded(500'000));
}

TEST_F(DiskQuotaTest, LinksAreNotFollowedAndNamesOfOneFileCountOnce) {
    put("a", 300'000);
    fs::create_hard_link(tree / "a", tree / "b");
    fs::create_directory_symlink("/usr", tree / "usr");
    fs::create_directory_symlink(".", tree / "loop");
    EXPECT_FALSE(exceeded(450'000));
}

TEST_F(DiskQuotaTest, WhatGrowsDuringACallIsFoundAndWhatWasRemovedIsForgotten) {
    DiskQuota quota(folder.get(), 3 << 20);
    DiskQuota::Watch watch(quota);
    EXPECT_FALSE(*watch.exceeded(kPatient));
    put("big", 8 << 20);
    const Descriptor big(::open((tree / "big").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::fsync(big.get()), 0);   // file systems may give out space only then
    EXPECT_TRUE(*watch.exceeded(kPatient));
    fs::remove(tree / "big");
    EXPECT_FALSE(*DiskQuota::Watch(quota).exceeded(kPatient));
}

TEST_F(DiskQuotaTest, NobodyWaitsForALongMeasurement) {
    for (int i = 0; i < 200; ++i)
        for (int j = 0; j < 100; ++j) put(fmt::format("{}/{}", i, j), 0);
    DiskQuota quota(folder.get(), 1 << 30);
    DiskQuota::Watch watch(quota);
    const SteadyTime now = std::chrono::steady_clock::now();
    EXPECT_EQ(watch.exceeded(now), std::nullopt) << "it has only begun";
    EXPECT_EQ(watch.exceeded(kPatient), false);
    EXPECT_EQ(watch.exceeded(now), false) << "it is known now";
}

TEST_F(DiskQuotaTest, AFolderThatShutsItsOwnerOutCannotBeMeasured) {
    if (::geteuid() == 0) GTEST_SKIP() << "nothing shuts root out";
    put("shut/a", 10);
    fs::permissions(tree / "shut", fs::perms::none);
    EXPECT_TRUE(exceeded(1'000'000));
}

TEST_F(DiskQuotaTest, FoldersTooDeepToBeMeasuredCount) {
    fs::path deep = tree;
    for (int i = 0; i < 250; ++i) deep /= "d";
    fs::create_directories(deep);
    EXPECT_TRUE(exceeded(1'000'000'000));
}

}  // namespace
}  // namespace crab::command
