#include "core/call/artifact_store.hpp"

#include "base/test_clock.hpp"
#include "crypto/digest.hpp"
#include "store/suite/test_engine.hpp"
#include "store/test_artifact_steps.hpp"

#include <gtest/gtest.h>

namespace crab::store {
namespace {

using core::Artifact;
using core::ArtifactStore;

class ArtifactStoreTest : public StoreSuite, protected ArtifactSteps {
protected:
    ArtifactStoreTest() { reopen(); }

    void reopen() {
        store.reset();
        auto opened = engine().stores().open_artifacts(limits, clock);
        ASSERT_TRUE(opened) << opened.error().message;
        store = std::move(*opened);
    }
};

TEST_P(ArtifactStoreTest, WhatWasFinishedIsReadInAnyRangeAlsoAfterARestart) {
    const std::string content(70'000, 'x');
    const auto stored = put(content + "end");
    ASSERT_TRUE(stored) << stored.error().message;
    reopen();
    auto bytes = store->open(stored->id);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_EQ((*bytes)->artifact().sha256, crypto::sha256_hex(content + "end"));
    EXPECT_EQ((*bytes)->artifact().content_type, "image/jpeg");
    EXPECT_EQ((*bytes)->artifact().caller, "caller/ann");
    EXPECT_EQ((*bytes)->read(69'999, 100).value(), "xend");
    EXPECT_EQ((*bytes)->read(70'003, 100).value(), "");
    EXPECT_EQ(store->stats().bytes, 70'003U);
}

TEST_P(ArtifactStoreTest, OfAWrongHashOrLengthNothingIsKept) {
    auto wrong_hash = store->begin(announced("good"));
    ASSERT_TRUE((*wrong_hash)->append("evil"));
    EXPECT_EQ((*wrong_hash)->finish().error().code, ErrorCode::kInvalidArgs);
    auto too_short = store->begin(announced("good", 10));
    ASSERT_TRUE((*too_short)->append("good"));
    EXPECT_EQ((*too_short)->finish().error().code, ErrorCode::kInvalidArgs);
    auto too_long = store->begin(announced("good", 2));
    EXPECT_EQ((*too_long)->append("good").error().code, ErrorCode::kInvalidArgs);
    wrong_hash->reset(), too_short->reset(), too_long->reset();
    EXPECT_TRUE(store->list({}).value().empty());
    EXPECT_TRUE(put(std::string(100'000, 'a')) && put(std::string(100'000, 'b')))
        << "their quota is free again";
}

TEST_P(ArtifactStoreTest, SizesAndQuotasAreRefusedBeforeAndWhileBytesCome) {
    EXPECT_EQ(store->begin(announced("", 100'001)).error().code, ErrorCode::kOversize);
    auto unannounced = store->begin(announced(""));
    EXPECT_EQ((*unannounced)->append(std::string(100'001, 'x')).error().code, ErrorCode::kOversize);
    unannounced->reset();
    ASSERT_TRUE(put(std::string(100'000, 'a')) && put(std::string(90'000, 'b')));
    EXPECT_EQ(put(std::string(20'000, 'c')).error().code, ErrorCode::kRateLimited);
    EXPECT_TRUE(put(std::string(90'000, 'c'), "office")) << "another tenant has room";
    EXPECT_EQ(put(std::string(90'000, 'd'), "shop").error().code, ErrorCode::kRateLimited)
        << "all of them together have not";
}

TEST_P(ArtifactStoreTest, ManySmallOnesCountAsBlocks) {
    std::size_t stored = 0;
    while (stored < 1'000 && put("x")) ++stored;
    EXPECT_EQ(stored, 200'000U / 4096U);
}

TEST_P(ArtifactStoreTest, WhatHasExpiredIsGoneAndItsPlaceIsFree) {
    const auto stored = put(std::string(100'000, 'a'));
    clock.advance(std::chrono::hours(1));
    EXPECT_EQ(store->open(stored->id).error().code, ErrorCode::kNotFound);
    EXPECT_TRUE(store->list({}).value().empty());
    EXPECT_EQ(store->forget_expired().value(), 1U);
    EXPECT_EQ(store->stats().artifacts, 0U);
    EXPECT_TRUE(put(std::string(100'000, 'a')) && put(std::string(100'000, 'b')));
}

TEST_P(ArtifactStoreTest, AReaderGoesOnWhenItsArtifactIsRemoved) {
    const auto stored = put("still here");
    const auto bytes = store->open(stored->id);
    EXPECT_TRUE(store->remove(stored->id).value());
    EXPECT_FALSE(store->remove(stored->id).value());
    EXPECT_EQ((*bytes)->read(0, 100).value(), "still here");
    EXPECT_EQ(store->open(stored->id).error().code, ErrorCode::kNotFound);
}

TEST_P(ArtifactStoreTest, ATenantListsItsOwn) {
    const auto ours = put("ours");
    ASSERT_TRUE(put("theirs", "office"));
    const auto listed = store->list("home").value();
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed.front().id, ours->id);
    EXPECT_EQ(store->list({}).value().size(), 2U);
}

CRAB_EACH_ENGINE(ArtifactStoreTest);

}  // namespace
}  // namespace crab::store
