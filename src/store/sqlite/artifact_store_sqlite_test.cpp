#include "store/sqlite/artifact_store_sqlite.hpp"

#include "base/process/test_folder.hpp"
#include "base/test_clock.hpp"
#include "crypto/digest.hpp"
#include "store/test_artifact_steps.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace crab::store::sqlite {
namespace {

using core::Artifact;
using core::ArtifactStore;

class ArtifactStoreTest : public ::testing::Test, protected ArtifactSteps {
protected:
    ArtifactStoreTest() { reopen(); }
    ~ArtifactStoreTest() override { store.reset(); }  // before its folder goes

    void reopen() {
        store.reset();
        auto opened = ArtifactStoreSqlite::open(folder / "artifacts", limits, clock);
        ASSERT_TRUE(opened) << opened.error().message;
        store = std::move(*opened);
    }
    std::size_t files() const {
        std::size_t count = 0;
        for (const auto& entry :
             std::filesystem::recursive_directory_iterator(folder / "artifacts")) {
            count +=
                entry.is_regular_file() && !entry.path().filename().string().starts_with("index.db")
                    ? 1
                    : 0;
        }
        return count;
    }

    TestFolder folder;
};

TEST_F(ArtifactStoreTest, WhatIsNotKeptLeavesNoFile) {
    {
        auto wrong_hash = store->begin(announced("good"));
        ASSERT_TRUE((*wrong_hash)->append("evil"));
        EXPECT_EQ((*wrong_hash)->finish().error().code, ErrorCode::kInvalidArgs);
    }
    ASSERT_TRUE(put("gone soon"));
    EXPECT_EQ(files(), 1U);
    clock.advance(std::chrono::hours(1));
    EXPECT_EQ(store->forget_expired().value(), 1U);
    EXPECT_EQ(files(), 0U);
}

TEST_F(ArtifactStoreTest, WhatACrashLeftIsClearedAway) {
    const auto whole = put("whole");
    auto unfinished = store->begin(announced("half"));
    ASSERT_TRUE((*unfinished)->append("ha"));
    const std::string orphan(32, 'a');
    std::ofstream(folder / "artifacts" / orphan) << "renamed, and no row written";
    // As a killed process leaves it: the upload's file is there when the next one starts.
    auto second = ArtifactStoreSqlite::open(folder / "artifacts", limits, clock,
                                            {.check = StartCheck::kNone});
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(files(), 1U);
    EXPECT_EQ((*second)->open(whole->id).value()->read(0, 100).value(), "whole");
    EXPECT_EQ((*second)->open(orphan).error().code, ErrorCode::kNotFound);
}

TEST_F(ArtifactStoreTest, ARowWithoutAFileIsForgotten) {
    const auto stored = put("lost");
    std::filesystem::remove(folder / "artifacts" / stored->id);
    reopen();
    EXPECT_TRUE(store->list({}).value().empty());
    EXPECT_EQ(store->stats().artifacts, 0U);
}

}  // namespace
}  // namespace crab::store::sqlite
