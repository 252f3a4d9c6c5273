#include "net/codec/gzip.hpp"

#include <gtest/gtest.h>

namespace crab::net {
namespace {

TEST(GzipTest, WhatIsPackedIsUnpackedAgain) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{100'000}, std::size_t{1'000'000}}) {
        const std::string text(size, 'x');
        std::string packed, unpacked;
        ASSERT_TRUE(gzip(text, size / 2 + 100, packed));
        EXPECT_EQ(gunzip(packed, size, unpacked), GunzipOutcome::kDone);
        EXPECT_EQ(unpacked, text);
    }
}

TEST(GzipTest, ASmallTextThatWouldBecomeALargeOneStopsAtTheLimit) {
    std::string packed, unpacked;
    ASSERT_TRUE(gzip(std::string(50'000'000, 'x'), 1'000'000, packed));
    EXPECT_EQ(gunzip(packed, 49'999'999, unpacked), GunzipOutcome::kTooBig);
    EXPECT_EQ(gunzip(packed, 1'000, unpacked), GunzipOutcome::kTooBig);
    EXPECT_LE(unpacked.size(), 1'001u);
}

TEST(GzipTest, WhatDoesNotPayIsNotPacked) {
    std::string packed;
    EXPECT_FALSE(gzip("abcdefghij", 10, packed));
}

TEST(GzipTest, WhatIsCutOrNoGzipOrHasMoreBehindItIsBroken) {
    std::string packed, unpacked;
    ASSERT_TRUE(gzip(std::string(1'000, 'x'), 500, packed));
    for (std::size_t size = 0; size < packed.size(); ++size)
        EXPECT_EQ(gunzip(packed.substr(0, size), 10'000, unpacked), GunzipOutcome::kBroken);
    EXPECT_EQ(gunzip(packed + "x", 10'000, unpacked), GunzipOutcome::kBroken);
    EXPECT_EQ(gunzip("this is no gzip at all", 10'000, unpacked), GunzipOutcome::kBroken);
}

}  // namespace
}  // namespace crab::net
