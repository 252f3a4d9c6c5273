#include "base/process/file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include <sys/stat.h>

namespace crab {
namespace {

class FileTest : public ::testing::Test {
protected:
    FileTest() {
        char name[] = "/tmp/crab-file-XXXXXX";
        folder = ::mkdtemp(name);
    }
    ~FileTest() override { std::filesystem::remove_all(folder); }
    std::filesystem::path folder;
};

TEST_F(FileTest, WhatWasWrittenIsReadAndReplacedAsAWhole) {
    const auto path = folder / "a";
    ASSERT_TRUE(replace_file(path, "first"));
    ASSERT_TRUE(replace_file(path, std::string(10'000, 'x'), 0644));
    EXPECT_EQ(read_file(path), std::string(10'000, 'x'));
    EXPECT_FALSE(std::filesystem::exists(folder / "a.new"));
}

TEST_F(FileTest, ANewFileIsOnlyItsOwnersUnlessToldOtherwise) {
    ASSERT_TRUE(replace_file(folder / "a", "secret"));
    struct stat status{};
    ASSERT_EQ(::stat((folder / "a").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(FileTest, FailuresSayWhichFileAndWhy) {
    EXPECT_EQ(read_file(folder / "none").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(read_file(folder).error().code, ErrorCode::kUnavailable);
    ASSERT_TRUE(replace_file(folder / "a", "12345"));
    EXPECT_EQ(read_file(folder / "a", 4).error().code, ErrorCode::kOversize);
    EXPECT_EQ(read_file(folder / "a", 5), "12345");
    const auto nowhere = replace_file(folder / "none" / "a", "x");
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(nowhere.error().message.contains("none/a cannot be written: No such file"));
}

TEST_F(FileTest, WhatACrashLeftBehindIsOverwritten) {
    ASSERT_TRUE(replace_file(folder / "a.new", "half"));
    ASSERT_TRUE(replace_file(folder / "a", "whole"));
    EXPECT_EQ(read_file(folder / "a"), "whole");
}

}  // namespace
}  // namespace crab
