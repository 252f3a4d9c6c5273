#include "crypto/ed25519.hpp"

#include "base/encoding.hpp"
#include "crypto/key_text.hpp"

#include <gtest/gtest.h>

namespace crab::crypto {
namespace {

template <std::size_t N>
std::array<std::uint8_t, N> bytes(std::string_view hex) {
    return *from_base64_exact<N>(to_base64(bytes_of(*from_hex(hex))));
}

TEST(Ed25519Test, SignsTheSecondVectorOfRfc8032) {
    const Ed25519Key key(
        Secret(bytes<32>("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")));
    EXPECT_EQ(to_hex(key.public_key()),
              "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
    const Ed25519Signature signature = key.sign("\x72");
    EXPECT_EQ(to_hex(signature),
              "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f"
              "3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
    EXPECT_TRUE(ed25519_verify(key.public_key(), "\x72", signature));
}

TEST(Ed25519Test, NoFlippedBitOfSignatureMessageOrKeyVerifies) {
    SystemRandom random;
    const auto key = Ed25519Key::generate(random);
    std::string message = "what was signed";
    auto signature = key.sign(message);
    auto public_key = key.public_key();
    const auto refused_when_flipped = [&](std::uint8_t& byte) {
        for (int bit = 0; bit < 8; ++bit) {
            byte ^= static_cast<std::uint8_t>(1 << bit);
            EXPECT_FALSE(ed25519_verify(public_key, message, signature));
            byte ^= static_cast<std::uint8_t>(1 << bit);
        }
    };
    for (auto& byte : signature) refused_when_flipped(byte);
    for (auto& byte : public_key) refused_when_flipped(byte);
    for (auto& c : message) refused_when_flipped(reinterpret_cast<std::uint8_t&>(c));
    EXPECT_TRUE(ed25519_verify(public_key, message, signature));
}

TEST(KeyTextTest, OnlyPaddedStandardBase64OfTheRightSizeIsRead) {
    EXPECT_TRUE(from_base64_exact<2>("//8="));
    for (const std::string_view bad :
         {"__8=", "//8", "//9=", "//8=\n", " //8=", "//8A", "//==", "", "/=8="})
        EXPECT_FALSE(from_base64_exact<2>(bad)) << bad;
}

}  // namespace
}  // namespace crab::crypto
