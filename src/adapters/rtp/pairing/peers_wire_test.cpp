#include "adapters/rtp/pairing/peers_wire.hpp"

#include <gtest/gtest.h>

namespace crab::rtp {
namespace {

using trust::PairingCode;
using trust::PairingRequest;

TEST(PeersWireTest, APairingIsReadWithAliasesAndDefaults) {
    const auto plain = parse_pairing(
        R"({"component_type":" Tool-Host ","component_id":"memory","endpoint":"wss://a"})");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->name.text(), "tool_host/memory");
    EXPECT_EQ(plain->kind, PairingRequest::Kind::kPair);
    EXPECT_FALSE(plain->remote_key || plain->is_test);
    const auto full = parse_pairing(
        R"({"component_type":"cli","component_id":"desk","endpoint":"wss://a","replace":true,)"
        R"("test":true,)"
        R"("remote_key":"A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="})");
    ASSERT_TRUE(full);
    EXPECT_EQ(full->name.text(), "operator/desk");
    EXPECT_EQ(full->kind, PairingRequest::Kind::kReplace);
    EXPECT_TRUE(full->remote_key && full->is_test);
    EXPECT_EQ((*full->remote_key)[0], 0x03);
}

TEST(PeersWireTest, WhatIsNotKnownOrNotThereIsInvalid) {
    for (
        const std::string_view body :
        {"", "[]", "{}", R"({"component_type":"tool","component_id":"a"})",
         R"({"component_type":"tool","component_id":"a","endpoint":""})",
         R"({"component_type":"phone","component_id":"a","endpoint":"wss://a"})",
         R"({"component_type":"tool","component_id":"a","endpoint":"wss://a","x":1})",
         R"({"component_type":"tool","component_id":"a","component_id":"b","endpoint":"wss://a"})",
         R"({"component_type":"tool","component_id":"a","endpoint":"wss://a","remote_key":"AAAA"})",
         R"({"component_type":"tool","component_id":"a","endpoint":"wss://a",)"
         R"("action":"pair.start"})"}) {
        const auto request = parse_pairing(body);
        ASSERT_FALSE(request) << body;
        EXPECT_EQ(request.error().code, PairingCode::kInvalidArgs);
    }
    EXPECT_TRUE(
        parse_pair_start(R"({"action":"pair.start","component_type":"tool","component_id":"a",)"
                         R"("endpoint":"wss://a"})"));
    EXPECT_FALSE(
        parse_pair_start(R"({"action":"pair.stop","component_type":"tool","component_id":"a",)"
                         R"("endpoint":"wss://a"})"));
}

TEST(PeersWireTest, ChangesNameAStatusOrAnHttpsUrl) {
    EXPECT_EQ(parse_peer_change(R"({"status":"inactive"})")->status, trust::PeerStatus::kInactive);
    EXPECT_EQ(parse_peer_change(R"({"tool_url":""})")->tool_url, "");
    for (const std::string_view body :
         {"{}", R"({"status":"revoked"})", R"({"tool_url":"http://a"})",
          R"({"tool_url":"https://u@a"})", R"({"status":null})"}) {
        EXPECT_FALSE(parse_peer_change(body)) << body;
    }
    EXPECT_EQ(parse_revocation(""), "");
    EXPECT_EQ(parse_revocation(R"({"reason":"lost"})"), "lost");
    EXPECT_FALSE(parse_revocation(R"({"reason":1})"));
}

TEST(PeersWireTest, RefusalsSayWhoseFaultItWas) {
    EXPECT_EQ(http_status(PairingCode::kMtlsRequired), 400);
    EXPECT_EQ(http_status(PairingCode::kPeerExists), 409);
    EXPECT_EQ(http_status(PairingCode::kTimeout), 504);
    EXPECT_EQ(http_status(PairingCode::kSignatureInvalid), 502);
    EXPECT_EQ(pair_result(trust::refuse(PairingCode::kBusy, "wait")),
              R"({"action":"pair.result","ok":false,"error":"wait","code":"BUSY"})");
}

TEST(PeersWireTest, APeerShowsWhatIsKnownOfIt) {
    const trust::PeerRecord peer{.name = {trust::ComponentType::kOperator, "desk"},
                                 .endpoint = "wss://a:443",
                                 .mtls_cert_fingerprint = "sha256:1",
                                 .serial_number = "7f",
                                 .pairing_id = "p",
                                 .status = trust::PeerStatus::kActive};
    std::string text;
    json::Writer writer(text);
    append_paired(writer, {"p", peer});
    const std::string zeros(43, 'A');
    EXPECT_EQ(text,
              R"({"pairing_id":"p","endpoint":"wss://a:443","peer":{"component_type":"operator",)"
              R"("component_id":"desk","endpoint":"wss://a:443",)"
              R"("public_key_ed25519":")" +
                  zeros + R"(=","public_key_x25519":")" + zeros +
                  R"(=","mtls_cert_fingerprint":"sha256:1",)"
                  R"("paired_at":"1970-01-01T00:00:00.000Z","status":"active","role":"cli_admin",)"
                  R"("serial_number":"7f","not_after":"1970-01-01T00:00:00.000Z"}})");
}

}  // namespace
}  // namespace crab::rtp
