#include "crypto/key_folder.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

namespace crab::crypto {
namespace {

using Access = KeyFolder::Access;

class KeyFolderTest : public testing::Test {
protected:
    KeyFolderTest() {
        std::string name = std::filesystem::temp_directory_path() / "crab_keys_XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        root = name;
        path = root / "keys";
    }
    ~KeyFolderTest() override { std::filesystem::remove_all(root); }

    mode_t mode_of(std::string_view name) const {
        struct stat status{};
        EXPECT_EQ(::stat((path / name).c_str(), &status), 0);
        return status.st_mode & 07777;
    }
    void chmod(std::string_view name, mode_t mode) const {
        ASSERT_EQ(::chmod((path / name).c_str(), mode), 0);
    }

    std::filesystem::path root;
    std::filesystem::path path;
};

TEST_F(KeyFolderTest, DirectoryAndFilesAreMadeWithTheirModesWhateverTheUmask) {
    const mode_t before = ::umask(0077);
    const auto folder = KeyFolder::open(path);
    ASSERT_TRUE(folder && folder->write("key", "secret", Access::kPrivate) &&
                folder->write("cert", "public", Access::kPublic));
    ::umask(before);
    EXPECT_EQ(mode_of(""), 0700u);
    EXPECT_EQ(mode_of("key"), 0600u);
    EXPECT_EQ(mode_of("cert"), 0644u);
    EXPECT_EQ(folder->read("key", Access::kPrivate).value(), "secret");
    EXPECT_EQ(folder->read("cert", Access::kPublic).value(), "public");
    EXPECT_EQ(folder->read("none", Access::kPublic).value(), std::nullopt);
}

TEST_F(KeyFolderTest, AnOpenDirectoryIsRefused) {
    ASSERT_TRUE(KeyFolder::open(path));
    for (const mode_t mode : {0750, 0701, 0720}) {
        chmod("", mode);
        EXPECT_EQ(KeyFolder::open(path).error().code, ErrorCode::kForbidden) << mode;
    }
    EXPECT_EQ(KeyFolder::open(root / "no" / "such").error().code, ErrorCode::kUnavailable);
}

TEST_F(KeyFolderTest, AFileOpenToMorePeopleThanItMayBeIsRefused) {
    const auto folder = KeyFolder::open(path);
    ASSERT_TRUE(folder->write("key", "secret", Access::kPrivate));
    for (const mode_t mode : {0640, 0604, 0700, 0644}) {
        chmod("key", mode);
        EXPECT_EQ(folder->read("key", Access::kPrivate).error().code, ErrorCode::kForbidden)
            << mode;
    }
    EXPECT_TRUE(folder->read("key", Access::kPublic));
    chmod("key", 0664);
    EXPECT_FALSE(folder->read("key", Access::kPublic));
    chmod("key", 0400);
    EXPECT_TRUE(folder->read("key", Access::kPrivate));
}

TEST_F(KeyFolderTest, LinksFoldersAndHugeFilesAreRefused) {
    const auto folder = KeyFolder::open(path);
    ASSERT_TRUE(folder->write("key", "secret", Access::kPrivate));
    std::filesystem::create_symlink(path / "key", path / "link");
    std::filesystem::create_directory(path / "folder");
    ASSERT_TRUE(folder->write("huge", std::string((1 << 20) + 1, 'x'), Access::kPrivate));
    for (const std::string_view name : {"link", "folder", "huge"})
        EXPECT_FALSE(folder->read(name, Access::kPrivate)) << name;
}

TEST_F(KeyFolderTest, WhatACrashLeftBesideAFileIsOverwrittenAndTheFileStaysWhole) {
    const auto folder = KeyFolder::open(path);
    ASSERT_TRUE(folder->write("key", "old", Access::kPrivate));
    // as if the write of "key" had stopped half-way
    ASSERT_TRUE(folder->write("key.new", "torn", Access::kPublic));
    EXPECT_EQ(folder->read("key", Access::kPrivate).value(), "old");
    ASSERT_TRUE(folder->write("key", "new", Access::kPrivate));
    EXPECT_EQ(folder->read("key", Access::kPrivate).value(), "new");
    EXPECT_EQ(mode_of("key"), 0600u);
    EXPECT_FALSE(std::filesystem::exists(path / "key.new"));
}

}  // namespace
}  // namespace crab::crypto
