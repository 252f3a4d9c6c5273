#include "crypto/digest.hpp"

#include "base/encoding.hpp"

#include <gtest/gtest.h>

namespace crab::crypto {
namespace {

TEST(DigestTest, Sha256HasTheValuesOfTheStandard) {
    EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256_hex("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(DigestTest, PartsHashLikeTheWholeAndTheObjectStartsAnewAfterEachDigest) {
    Sha256 hash;
    for (int round = 0; round < 2; ++round)
        EXPECT_EQ(hash.update("a").update("").update("bc").finish(), sha256("abc"));
}

TEST(DigestTest, NumbersGoInMostSignificantByteFirst) {
    const std::string framed("\0\0\0\0\0\0\1\2", 8);
    EXPECT_EQ(Sha256().update_number(0x0102).finish(), sha256(framed));
}

TEST(DigestTest, HmacHasTheValuesOfRfc4231) {
    EXPECT_EQ(to_hex(hmac_sha256(bytes_of("Jefe"), bytes_of("what do ya want for nothing?"))),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(to_hex(hmac_sha256({}, {})),
              "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(DigestTest, ConstantTimeComparisonSeesContentAndLength) {
    EXPECT_TRUE(constant_time_equal("secret", "secret"));
    EXPECT_TRUE(constant_time_equal("", ""));
    EXPECT_FALSE(constant_time_equal("secret", "secreT"));
    EXPECT_FALSE(constant_time_equal("secret", "secrets"));
}

}  // namespace
}  // namespace crab::crypto
