#include "crypto/x25519.hpp"

#include "base/encoding.hpp"
#include "crypto/digest.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace crab::crypto {
namespace {

TEST(X25519Test, BothSidesComputeTheSame) {
    SystemRandom random;
    const auto left = X25519Key::generate(random);
    const auto right = X25519Key::generate(random);
    EXPECT_EQ(left.agree(right.public_key())->reveal(), right.agree(left.public_key())->reveal());
}

TEST(X25519Test, PointsOfSmallOrderAreRefused) {
    SystemRandom random;
    const auto key = X25519Key::generate(random);
    // Zero, one and two points of order eight: https://cr.yp.to/ecdh.html#validate
    for (const std::string_view hex :
         {"0000000000000000000000000000000000000000000000000000000000000000",
          "0100000000000000000000000000000000000000000000000000000000000000",
          "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
          "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"}) {
        X25519PublicKey point;
        std::ranges::copy(*from_hex(hex), point.begin());
        EXPECT_FALSE(key.agree(point)) << hex;
    }
}

}  // namespace
}  // namespace crab::crypto
