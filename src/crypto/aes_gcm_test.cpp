#include "crypto/aes_gcm.hpp"

#include "base/encoding.hpp"
#include "crypto/digest.hpp"

#include <gtest/gtest.h>

namespace crab::crypto {
namespace {

TEST(AesGcmTest, SealsTheFourteenthCaseOfTheSpecification) {
    const AesKey key{};
    const AesGcmNonce nonce{};
    const std::string sealed = aes_gcm_seal(key, nonce, "", std::string(16, '\0'));
    EXPECT_EQ(to_hex(bytes_of(sealed)),
              "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919");
    EXPECT_EQ(aes_gcm_open(key, nonce, "", sealed), std::string(16, '\0'));
}

TEST(AesGcmTest, EmptyTextsAreSealedToo) {
    const std::string sealed = aes_gcm_seal(AesKey{}, AesGcmNonce{}, "more", "");
    EXPECT_EQ(sealed.size(), kAesGcmTagSize);
    EXPECT_EQ(aes_gcm_open(AesKey{}, AesGcmNonce{}, "more", sealed), "");
    EXPECT_FALSE(aes_gcm_open(AesKey{}, AesGcmNonce{}, "", sealed));
}

TEST(AesGcmTest, AnyFlippedBitAndAnyShorterTextIsRefused) {
    const std::string sealed = aes_gcm_seal(AesKey{}, AesGcmNonce{}, "with", "a secret");
    for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
        std::string flipped = sealed;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
        EXPECT_FALSE(aes_gcm_open(AesKey{}, AesGcmNonce{}, "with", flipped)) << bit;
    }
    for (std::size_t size = 0; size < sealed.size(); ++size)
        EXPECT_FALSE(aes_gcm_open(AesKey{}, AesGcmNonce{}, "with", sealed.substr(0, size)));
}

}  // namespace
}  // namespace crab::crypto
