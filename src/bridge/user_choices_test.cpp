#include "bridge/user_choices.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include <sys/stat.h>

namespace crab::bridge {
namespace {

class UserChoicesTest : public testing::Test {
protected:
    UserChoicesTest() {
        std::string made =
            (std::filesystem::temp_directory_path() / "crab-choices-XXXXXX").string();
        if (::mkdtemp(made.data()) == nullptr) std::abort();
        folder = made;
    }
    ~UserChoicesTest() override { std::filesystem::remove_all(folder); }

    std::filesystem::path folder;
    std::filesystem::path file() const { return folder / "crab" / "providers.json"; }
};

TEST_F(UserChoicesTest, NobodyHasDecidedAnythingWithoutAFile) {
    EXPECT_EQ(*UserChoices::load(file()), UserChoices());
}

TEST_F(UserChoicesTest, WhatIsSavedComesBackAndNobodyElseReadsIt) {
    const UserChoices choices{.enabled = {{"a", true}, {"b", false}},
                              .labels = {{"a", "ledger"}, {"c", "notes"}}};
    ASSERT_TRUE(choices.save(file()));
    EXPECT_EQ(*UserChoices::load(file()), choices);
    struct stat status{};
    ASSERT_EQ(::stat(file().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(UserChoicesTest, AFileThatIsNoneIsAnError) {
    std::filesystem::create_directories(file().parent_path());
    for (const char* text : {"", "[]", "{}", R"({"providers":[]})"}) {
        std::ofstream(file()) << text;
        ASSERT_EQ(::chmod(file().c_str(), 0600), 0);
        EXPECT_FALSE(UserChoices::load(file())) << text;
    }
}

TEST_F(UserChoicesTest, TheUsersWordGoesBeforeTheRecords) {
    cetp::ProviderRecord open{.id = "open"}, shy{.id = "shy", .off_until_allowed = true};
    EXPECT_TRUE(UserChoices().allows(open));
    EXPECT_FALSE(UserChoices().allows(shy));
    const UserChoices choices{.enabled = {{"open", false}, {"shy", true}}};
    EXPECT_FALSE(choices.allows(open));
    EXPECT_TRUE(choices.allows(shy));
}

}  // namespace
}  // namespace crab::bridge
