#include "crypto/certificate_request.hpp"

#include "crypto/pem.hpp"
#include "crypto/test_keys.hpp"

#include <gtest/gtest.h>

namespace crab::crypto {
namespace {

constexpr std::string_view kLabel = "CERTIFICATE REQUEST";
const AltNames kNames{.uris = {"crab://peer/tool_host/memory"},
                      .dns_names = {"memory.example"},
                      .ip_addresses = {"192.0.2.7", "2001:db8::1"}};

std::string request_with(const PrivateKey& key) {
    return make_certificate_request(key, "memory", kNames);
}

TEST(CertificateRequestTest, WhatWasAskedForReadsBack) {
    const auto key = PrivateKey::generate_p256();
    const auto request = CertificateRequest::parse(request_with(key));
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->public_key, key.public_key());
    EXPECT_EQ(request->common_name, "memory");
    EXPECT_EQ(request->alt_names, kNames);
}

TEST(CertificateRequestTest, FourKindsOfKeysAreTakenAndWeakOnesAreNot) {
    EXPECT_EQ(CertificateRequest::parse(request_with(PrivateKey::generate_p256()))->public_key.kind,
              KeyKind::kP256);
    EXPECT_EQ(CertificateRequest::parse(request_with(test::p384_key()))->public_key.kind,
              KeyKind::kP384);
    EXPECT_EQ(
        CertificateRequest::parse(request_with(PrivateKey::generate_ed25519()))->public_key.kind,
        KeyKind::kEd25519);
    EXPECT_EQ(CertificateRequest::parse(request_with(test::rsa_key(2048)))->public_key.kind,
              KeyKind::kRsa);
    EXPECT_FALSE(CertificateRequest::parse(request_with(test::rsa_key(1024))));
}

TEST(CertificateRequestTest, SecondBlocksNotesAndLongTextsAreRefused) {
    const std::string pem = request_with(PrivateKey::generate_p256());
    EXPECT_FALSE(CertificateRequest::parse(pem + pem));
    EXPECT_FALSE(CertificateRequest::parse("a note\n" + pem));
    EXPECT_FALSE(CertificateRequest::parse(pem + std::string(CertificateRequest::kMostPem, '\n')));
    EXPECT_TRUE(CertificateRequest::parse(
        pem + std::string(CertificateRequest::kMostPem - pem.size(), '\n')));
    EXPECT_FALSE(CertificateRequest::parse(encode_pem(kLabel, *decode_pem(pem, kLabel) + "x")));
}

TEST(CertificateRequestTest, NoFlippedBitSurvivesTheSelfSignature) {
    const std::string der = *decode_pem(request_with(PrivateKey::generate_ed25519()), kLabel);
    for (std::size_t bit = 0; bit < der.size() * 8; ++bit) {
        std::string flipped = der;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
        EXPECT_FALSE(CertificateRequest::parse(encode_pem(kLabel, flipped))) << bit;
    }
}

}  // namespace
}  // namespace crab::crypto
