#include "crypto/signature.hpp"

#include "base/encoding.hpp"
#include "crypto/ecdsa_form.hpp"
#include "crypto/test_keys.hpp"

#include <gtest/gtest.h>

namespace crab::crypto {
namespace {

TEST(Signature, WhatAKeySignsItsPublicHalfVerifiesAndNothingElse) {
    for (const PrivateKey& key : {PrivateKey::generate_ed25519(), PrivateKey::generate_p256()}) {
        const auto read = read_signing_key(key.public_key().der);
        ASSERT_TRUE(read) << read.error().message;
        // short numbers r and s come up now and then, and are padded
        for (int i = 0; i < 50; ++i) {
            const std::string signature = sign(key, "nonce " + std::to_string(i));
            EXPECT_EQ(signature.size(), 64U);
            EXPECT_TRUE(verify(*read, "nonce " + std::to_string(i), signature));
            EXPECT_FALSE(verify(*read, "another", signature));
        }
        std::string bent = sign(key, "nonce");
        bent[10] = static_cast<char>(bent[10] ^ 1);
        EXPECT_FALSE(verify(*read, "nonce", bent));
        EXPECT_FALSE(verify(*read, "nonce", ""));
        EXPECT_FALSE(verify(*read, "nonce", std::string(64, '\0')));
        EXPECT_FALSE(verify(*read, "nonce", std::string(64, '\xff')));
        EXPECT_FALSE(
            verify(PrivateKey::generate_ed25519().public_key(), "nonce", sign(key, "nonce")));
    }
}

TEST(Signature, AuthenticatorsGiveThemInTheFormOfX509) {
    const PrivateKey key = PrivateKey::generate_p256();
    const std::string pair = sign(key, "nonce"), der = ecdsa_to_der(pair, 32);
    EXPECT_TRUE(verify_der(key.public_key(), "nonce", der));
    EXPECT_FALSE(verify_der(key.public_key(), "another", der));
    EXPECT_FALSE(verify_der(key.public_key(), "nonce", pair));
    EXPECT_FALSE(verify_der(key.public_key(), "nonce", der + "x"));
    EXPECT_FALSE(verify_der(key.public_key(), "nonce", ""));
    const PrivateKey plain = PrivateKey::generate_ed25519();
    EXPECT_TRUE(verify_der(plain.public_key(), "nonce", sign(plain, "nonce")));
    EXPECT_FALSE(verify_der(test::rsa_key(2048).public_key(), "nonce", der));
}

TEST(Signature, ASignatureOfRfc8032IsGood) {
    // RFC 8032, section 7.1, test 2, its key in the SubjectPublicKeyInfo of RFC 8410.
    const auto key = read_signing_key(from_hex("302a300506032b65700321003d4017c3e843895a92b70aa74d1"
                                               "b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
                                          .value());
    ASSERT_TRUE(key);
    EXPECT_TRUE(verify(*key, from_hex("72").value(),
                       from_hex("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da08"
                                "5ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00")
                           .value()));
}

TEST(Signature, OnlyTheTwoKindsOfKeysAreTaken) {
    EXPECT_FALSE(read_signing_key(""));
    EXPECT_FALSE(read_signing_key("nonsense"));
    EXPECT_FALSE(read_signing_key(test::p384_key().public_key().der));
    EXPECT_FALSE(read_signing_key(test::rsa_key(2048).public_key().der));
    EXPECT_FALSE(read_signing_key(PrivateKey::generate_ed25519().public_key().der + "x"));
}

}  // namespace
}  // namespace crab::crypto
