#include "trust/pairing/messages.hpp"

#include "trust/pairing/challenge_cipher.hpp"
#include "trust/pairing/test_vectors.hpp"

#include <gtest/gtest.h>

namespace crab::trust {
namespace {

template <class Message>
void expect_vector(const crypto::Ed25519Key& key, const Message& message, std::size_t size,
                   std::string_view signature) {
    EXPECT_EQ(signed_bytes(message).size(), size) << signed_bytes(message);
    EXPECT_EQ(to_base64(key.sign(signed_bytes(message))), signature) << signed_bytes(message);
    EXPECT_TRUE(is_signed_by(key.public_key(), signed_by(key, message)));
}

TEST(PairingVectorsTest, PublicKeysFollowFromTheSeeds) {
    EXPECT_EQ(to_base64(kGatewayKey.public_key()), "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=");
    EXPECT_EQ(to_base64(kRemoteKey.public_key()), "Kay64UG8yvCyLhqU000LxzYeUm0L/hLIl5S8kyKWbdc=");
    EXPECT_EQ(to_base64(kRemoteAgreementKey.public_key()),
              "eaYx7t4b+cmPEgMs3q3Q56B5OY/HhriMyEbsia+FpRo=");
    EXPECT_EQ(to_base64(kEphemeralKey.public_key()),
              "Z13VdO13iTELPS52gfN5C0ZsdzsVIf7PNld5WDcepS8=");
}

TEST(PairingVectorsTest, V1IsSignedByteForByte) {
    expect_vector(
        kGatewayKey, vector_1(), 267,
        "ARlj9lnpwOXx/h/SBqLNQ5KuBiP5OFjFKBcTT4MwL2VtIF8dK8rfxcOYuB/7ez9ZBiljqeirjPF0t3l9J86TDw==");
}

TEST(PairingVectorsTest, V2IsSignedWithEscapedAnglesAndAmpersands) {
    expect_vector(
        kRemoteKey, vector_2(), 334,
        "AqGsKVNsxd24tOrEZuO2/YL7q3MAmDmtFi0K8w3IPw2iqm4042P55SZoBA2ObTjDfkR07Wrs1r9sVzL+oi7nBQ==");
    EXPECT_NE(signed_bytes(vector_2()).find(R"("mem \u003ceast\u003e\u00261")"), std::string::npos);
}

TEST(PairingVectorsTest, V3EncryptsWithItsNonceAndDecryptsAsDoesTheOriginals) {
    const std::string ours =
        "AAECAwQFBgcICQoLLHLM0IeeE6/+flpkXcfgz8jUd/"
        "kdrTqWs+oERixZVmTR+BjqHwUQduvAL9veqB8aGLiPDNE8oJz1eXhX";
    const std::string originals =
        "8yYfLYNEH4nBM5vydTbn/jsSKIace1o3DNcA7u996ckgMceBobBS4OLJe0xUYyuuEtLuXA/"
        "zHcGZ1+2bZKDru1VqZvCkNdj9";
    EXPECT_EQ(to_hex(kEphemeralKey.agree(kRemoteAgreementKey.public_key())->reveal()),
              "d6fb939511b2381bc8599b4b8edc5968829450dfd7a87aebe78a703cd04cd54e");
    const auto sealed = seal_challenge(kRemoteAgreementKey.public_key(), kPairingId, kChallengeId,
                                       kPlaintext, kEphemeralKey, counting_from<12>(0));
    ASSERT_TRUE(sealed);
    EXPECT_EQ(sealed->aad.size(), 176u);
    EXPECT_EQ(to_hex(crypto::Sha256()
                         .update(kEphemeralKey.agree(kRemoteAgreementKey.public_key())->reveal())
                         .update(sealed->aad)
                         .finish()),
              "ce457deaf7164ba96ba9bdb222940f484d42a3a7206d3b245c12e130c75796ee");
    EXPECT_EQ(to_base64(bytes_of(sealed->ciphertext)), ours);
    for (const std::string& ciphertext : {ours, originals}) {
        EXPECT_EQ(open_challenge(kRemoteAgreementKey, kPairingId, kChallengeId,
                                 {*from_base64(ciphertext), sealed->aad}),
                  kPlaintext);
    }
}

TEST(PairingVectorsTest, V4IsSignedWithThePlaintextAsItIs) {
    expect_vector(
        kRemoteKey, vector_4(), 216,
        "MqGgVIvp6pTflDrRd3mKP8GttC3aoY3F6ISGXOKZG5HJsZSLEN3Bq97EfU+94bNuOFOXahzxjV6C4PRG08/bCg==");
}

TEST(PairingVectorsTest, V5IsSignedWithEscapedLineEnds) {
    expect_vector(
        kRemoteKey, vector_5(), 180,
        "GrlvmGqKlt3QQNO/lYs91fYukYA2pQuXy4auF1VTFnCeDaUUK1X6p4q9Ql2Xc5q8672YVtgRi0eQrh0FEcbdBw==");
}

TEST(PairingVectorsTest, V6IsSignedWithTheChainAndTimesInUtc) {
    expect_vector(
        kGatewayKey, vector_6(), 394,
        "GQTHAOiIrMUqs6uiorzKD1op9uzJGuvyUTLWER4o0V2/VCSeyYa9G0xs4W2CMAKlvzytkn3P6qJ1MYEAAyPDDQ==");
    PairCsrIssued elsewhere = vector_6();
    elsewhere.not_before = *SignedTime::parse("2026-02-13T20:55:00+05:00");
    EXPECT_EQ(signed_bytes(elsewhere), signed_bytes(vector_6()));
}

TEST(PairingVectorsTest, V7IsSignedByteForByte) {
    expect_vector(
        kRemoteKey, vector_7(), 130,
        "6C7GQbI/6PKSGWrZOFPQc04wwlyL9GlBrnisp49nV1SmmGfHFkcZDV3bABih8xVCC7hDJ2TzNWc77d3zJhkgBw==");
}

TEST(PairingMessagesTest, AnEmptyChainIsLeftOutAndOtherEmptyMembersAreNot) {
    PairCsrIssued issued = vector_6();
    issued.certificate_chain_pem.clear();
    issued.serial_number.clear();
    EXPECT_EQ(signed_bytes(issued).find("certificate_chain_pem"), std::string::npos);
    EXPECT_NE(signed_bytes(issued).find(R"("serial_number":"")"), std::string::npos);
}

TEST(PairingMessagesTest, EscapesAreThoseOfTheProtocol) {
    PairCsrInstalled message{.pairing_id = "p"};
    const auto escaped = [&](std::string_view text) {
        message.mtls_cert_fingerprint = text;
        const std::string whole = signed_bytes(message);
        const std::size_t begin = whole.find("fingerprint\":\"") + 14;
        return whole.substr(begin, whole.size() - begin - 2);
    };
    EXPECT_EQ(escaped("\"\\\n\r\t"), R"(\"\\\n\r\t)");
    EXPECT_EQ(escaped("<>&"), R"(\u003c\u003e\u0026)");
    EXPECT_EQ(escaped("\xe2\x80\xa8\xe2\x80\xa9"), R"(\u2028\u2029)");
    EXPECT_EQ(escaped("\b\f\x1f"), R"(\u0008\u000c\u001f)");
    EXPECT_EQ(escaped("/\x7f\xe2\x80\xaa\xc3\xa9\xf0\x9f\xa6\x80"),
              "/\x7f\xe2\x80\xaa\xc3\xa9\xf0\x9f\xa6\x80");
}

TEST(PairingMessagesTest, NoFlippedBitOfASignedMessageVerifies) {
    const PairCsrIssued message = signed_by(kGatewayKey, vector_6());
    std::string bytes = signed_bytes(message);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        const auto flip = [&] {
            bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
        };
        flip();
        EXPECT_FALSE(crypto::ed25519_verify(kGatewayKey.public_key(), bytes, message.signature))
            << bit;
        flip();
    }
}

TEST(ChallengeCipherTest, NoFlippedBitAndNoOtherIdDecrypts) {
    const auto sealed = seal_challenge(kRemoteAgreementKey.public_key(), kPairingId, kChallengeId,
                                       kPlaintext, kEphemeralKey, counting_from<12>(0));
    const auto opens = [](std::string_view pairing_id, std::string_view challenge_id,
                          const SealedChallenge& challenge) {
        return open_challenge(kRemoteAgreementKey, pairing_id, challenge_id, challenge).has_value();
    };
    ASSERT_TRUE(opens(kPairingId, kChallengeId, *sealed));
    EXPECT_FALSE(opens(kChallengeId, kChallengeId, *sealed));
    EXPECT_FALSE(opens(kPairingId, kPairingId, *sealed));
    for (std::string SealedChallenge::* part :
         {&SealedChallenge::ciphertext, &SealedChallenge::aad}) {
        for (std::size_t bit = 0; bit < ((*sealed).*part).size() * 8; ++bit) {
            SealedChallenge flipped = *sealed;
            (flipped.*part)[bit / 8] = static_cast<char>((flipped.*part)[bit / 8] ^ (1 << bit % 8));
            EXPECT_FALSE(opens(kPairingId, kChallengeId, flipped)) << bit;
        }
    }
    EXPECT_FALSE(opens(kPairingId, kChallengeId, {sealed->ciphertext.substr(0, 27), sealed->aad}));
}

TEST(ChallengeCipherTest, AdditionalDataIsTakenAsItCameAndNeedsItsThreeMembers) {
    const std::string key = to_base64(kEphemeralKey.public_key());
    const auto seal_under = [&](const std::string& aad) {
        const auto shared = kEphemeralKey.agree(kRemoteAgreementKey.public_key());
        const crypto::AesKey secret(crypto::Sha256().update(shared->reveal()).update(aad).finish());
        return SealedChallenge{
            std::string(12, '\0') + crypto::aes_gcm_seal(secret, {}, aad, kPlaintext), aad};
    };
    const auto opened = [&](const std::string& aad) {
        return open_challenge(kRemoteAgreementKey, "p", "c", seal_under(aad)).has_value();
    };
    EXPECT_TRUE(opened(R"({ "ephemeral_public_key_x25519":")" + key +
                       R"(", "challenge_id":"c","pairing_id":"p","more":1})"));
    EXPECT_FALSE(opened(R"({"challenge_id":"c","pairing_id":"p"})"));
    EXPECT_FALSE(opened(R"({"ephemeral_public_key_x25519":")" + key + R"(","challenge_id":"c"})"));
    EXPECT_FALSE(
        opened(R"({"ephemeral_public_key_x25519":"AAAA","challenge_id":"c","pairing_id":"p"})"));
    EXPECT_FALSE(opened("[]"));
    EXPECT_FALSE(opened("text"));
}

TEST(ChallengeCipherTest, AnAllZeroAgreementIsRefusedByBothSides) {
    EXPECT_EQ(
        seal_challenge({}, kPairingId, kChallengeId, kPlaintext, kEphemeralKey, {}).error().code,
        PairingCode::kChallengeFailed);
    const std::string zero = to_base64(crypto::X25519PublicKey{});
    const SealedChallenge challenge{
        std::string(28, '\0'),
        R"({"pairing_id":"p","challenge_id":"c","ephemeral_public_key_x25519":")" + zero + R"("})"};
    EXPECT_EQ(open_challenge(kRemoteAgreementKey, "p", "c", challenge).error().code,
              PairingCode::kChallengeFailed);
}

}  // namespace
}  // namespace crab::trust
