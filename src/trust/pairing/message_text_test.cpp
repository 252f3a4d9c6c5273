#include "trust/pairing/message_text.hpp"

#include "trust/pairing/test_vectors.hpp"

#include <gtest/gtest.h>

namespace crab::trust {
namespace {

const std::string kWire = to_wire(signed_by(kGatewayKey, vector_1()));

std::string with(std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

template <class Message = PairInit>
std::optional<PairingCode> refusal_of(std::string_view text,
                                      std::optional<std::string_view> pairing_id = {}) {
    const auto parsed = MessageText::parse(text);
    if (!parsed) return parsed.error().code;
    const auto message = parsed->as<Message>(pairing_id);
    return message ? std::nullopt : std::optional(message.error().code);
}

TEST(MessageTextTest, EveryMessageReadsBackAsItWasSigned) {
    const auto same = [](const auto& key, const auto& message) {
        using Message = std::decay_t<decltype(message)>;
        const auto sent = signed_by(key, message);
        const auto read = MessageText::parse(to_wire(sent))->template as<Message>(kPairingId);
        ASSERT_TRUE(read) << Message::kType << ": " << read.error().message;
        EXPECT_EQ(signed_bytes(*read), signed_bytes(sent));
        EXPECT_TRUE(is_signed_by(key.public_key(), *read)) << Message::kType;
    };
    const std::string fingerprint = "sha256:" + std::string(64, 'A');
    PairCsrIssued issued = vector_6();
    issued.mtls_cert_fingerprint = fingerprint;
    PairCsrInstalled installed = vector_7();
    installed.mtls_cert_fingerprint = fingerprint;
    same(kGatewayKey, vector_1());
    same(kRemoteKey, vector_2());
    same(kRemoteKey, vector_4());
    same(kRemoteKey, vector_5());
    same(kGatewayKey, issued);
    same(kRemoteKey, installed);
    const PairChallenge challenge{kPairingId, kChallengeId, std::string(28, '\xff'), "{}"};
    const auto read = MessageText::parse(to_wire(challenge))->as<PairChallenge>(kPairingId);
    EXPECT_EQ(read->ciphertext, challenge.ciphertext);
    EXPECT_EQ(read->aad, challenge.aad);
    EXPECT_EQ(
        MessageText::parse(to_wire(PairComplete{kPairingId}))->as<PairComplete>(kPairingId)->status,
        "ok");
}

TEST(MessageTextTest, UnknownMembersOrderAndWhiteSpaceBreakNoSignature) {
    const std::string text =
        R"( {"sig_ed25519":")" + to_base64(signed_by(kGatewayKey, vector_1()).signature) +
        R"(","more":{"a":[1,2.5,true]},"pairing_id":"000102030405060708090a0b0c0d0e0f",)"
        R"("gateway":{"issued_at":"2026-02-13T16:00:00.120Z",)"
        R"("x":"y","nonce":"gIGCg4SFhoeIiYqLjI2Oj5CRkpOUlZaX","gateway_id":"\u0067w_home",)"
        R"("public_key_ed25519":"A6EHv\/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="},"version":"v1",)"
        R"("type":"pair.init"} )" +
        "\n";
    const auto init = MessageText::parse(text)->as<PairInit>(std::nullopt);
    ASSERT_TRUE(init) << init.error().message;
    EXPECT_TRUE(is_signed_by(kGatewayKey.public_key(), *init));
}

TEST(MessageTextTest, NamesCountInExactCaseOnly) {
    EXPECT_FALSE(refusal_of(kWire));
    EXPECT_EQ(refusal_of(with(kWire, "\"nonce\"", "\"Nonce\"")), PairingCode::kProtocolViolation);
    EXPECT_EQ(refusal_of(with(kWire, "\"type\"", "\"Type\"")), PairingCode::kProtocolViolation);
    EXPECT_FALSE(refusal_of(with(kWire, "\"type\"", "\"TYPE\":\"pair.error\",\"type\"")));
}

TEST(MessageTextTest, WhatCouldBeReadInTwoWaysIsAViolation) {
    for (const std::string& text :
         {with(kWire, "\"version\"", "\"type\":\"pair.init\",\"version\""),
          with(kWire, "\"nonce\"", "\"nonce\":\"x\",\"nonce\""),
          with(kWire, "\"version\"", "\"more\":{\"a\":1,\"a\":1},\"version\""),
          with(kWire, "\"version\"", "\"more\":null,\"version\""),
          with(kWire, "\"version\"", "\"more\":[null],\"version\""),
          with(kWire, "\"gw_home\"", "null"),
          with(kWire, "gw_home", "gw\\u0000home"),
          with(kWire, "gw_home", "gw\\u001fhome"),
          with(kWire, "gw_home", "gw\x01home"),
          with(kWire, "gw_home", "gw\xffhome"),
          with(kWire, "gw_home", "gw\xc0\xafhome"),
          with(kWire, "gw_home", "gw\\ud800home"),
          with(kWire, "gw_home", "gw\\udc00home"),
          with(kWire, "\"version\"", "\"more\":\"\\b\",\"version\""),
          with(kWire, "\"version\"", "\"mo\\u0007re\":1,\"version\""),
          kWire + "x",
          kWire + kWire,
          kWire.substr(1),
          std::string(),
          "[" + kWire + "]",
          "\xef\xbb\xbf" + kWire,
          std::string("\"pair.init\""),
          with(kWire, "\"version\"",
               "\"more\":" + std::string(65, '[') + std::string(65, ']') + ",\"version\"")}) {
        EXPECT_EQ(refusal_of(text), PairingCode::kProtocolViolation) << text;
    }
    EXPECT_FALSE(
        refusal_of(with(kWire, "\"version\"", "\"more\":\"a\\tb\\nc\\rd\x7f\",\"version\"")));
}

TEST(MessageTextTest, MembersMustBeThereAndWellFormed) {
    for (const auto& [from, to] :
         std::initializer_list<std::pair<std::string_view, std::string_view>>{
             {"\"gw_home\"", "7"},
             {"gw_home", ""},
             {"gw_home", "gw home"},
             {"A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=",
              "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="},
             {"A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=",
              "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"},
             {"A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=",
              "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJV"},
             {"gIGCg4SFhoeIiYqLjI2Oj5CRkpOUlZaX", "gIGCg4SFhoeIiYqLjI2O"},
             {"gIGCg4SFhoeIiYqLjI2Oj5CRkpOUlZaX", "gIGCg4SFhoeIiYqLjI2Oj5CRkpOUlZaX\\n"},
             {"2026-02-13T16:00:00.12Z", "yesterday"},
             {"sig_ed25519", "sig"},
             {"\"gateway\"", "\"gate\""}}) {
        EXPECT_EQ(refusal_of(with(kWire, from, to)), PairingCode::kProtocolViolation)
            << from << " -> " << to;
    }
}

TEST(MessageTextTest, TypeIsLookedAtBeforeVersionAndVersionBeforeTheRest) {
    const std::string later = with(kWire, "\"v1\"", "\"v2\"");
    EXPECT_EQ(refusal_of(later), PairingCode::kUnsupportedVersion);
    EXPECT_EQ(refusal_of(with(later, "gw_home", "")), PairingCode::kUnsupportedVersion);
    EXPECT_EQ(refusal_of<PairIdentity>(later), PairingCode::kProtocolViolation);
    EXPECT_EQ(refusal_of(with(kWire, "\"v1\"", "1")), PairingCode::kProtocolViolation);
}

TEST(MessageTextTest, PairingIdsAreVisibleTextAndStayTheSame) {
    for (const std::string& id : {std::string("x"), std::string("7f1c~!"), std::string(128, 'i')})
        EXPECT_FALSE(refusal_of(with(kWire, kPairingId, id))) << id;
    for (const std::string& id :
         {std::string(), std::string("a b"), std::string("\xc3\xa9"), std::string(129, 'i')}) {
        EXPECT_EQ(refusal_of(with(kWire, kPairingId, id)), PairingCode::kProtocolViolation) << id;
    }
    EXPECT_FALSE(refusal_of(kWire, kPairingId));
    EXPECT_EQ(refusal_of(kWire, kChallengeId), PairingCode::kProtocolViolation);
}

TEST(MessageTextTest, OneByteMoreThanTheLimitIsRefused) {
    EXPECT_FALSE(refusal_of(kWire + std::string(kMostMessageBytes - kWire.size(), ' ')));
    EXPECT_EQ(refusal_of(kWire + std::string(kMostMessageBytes - kWire.size() + 1, ' ')),
              PairingCode::kProtocolViolation);
}

TEST(MessageTextTest, ComplaintsAreReadHoweverTheyCome) {
    const auto original =
        MessageText::parse(
            R"({"type":"pair.error","version":"v1","pairing_id":"","code":"HANDSHAKE_FAILED",)"
            R"("message":"no"})")
            ->as_error();
    ASSERT_TRUE(original);
    EXPECT_EQ(original->code, "HANDSHAKE_FAILED");
    EXPECT_EQ(original->message, "no");
    EXPECT_TRUE(MessageText::parse(R"({"type":"pair.error"})")->as_error());
    EXPECT_FALSE(MessageText::parse(kWire)->as_error());
}

}  // namespace
}  // namespace crab::trust
