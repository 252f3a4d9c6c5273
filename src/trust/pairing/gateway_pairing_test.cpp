#include "trust/pairing/gateway_pairing.hpp"

#include "base/encoding.hpp"
#include "crypto/certificate_request.hpp"
#include "crypto/test_keys.hpp"
#include "trust/pairing/test_handshake.hpp"

#include <gmock/gmock.h>

namespace crab::trust {
namespace {

using namespace std::chrono_literals;
using testing::MatchesRegex;

class GatewayPairingTest : public HandshakeTest {
protected:
    const std::vector<std::string> from_remote{"pair.identity", "pair.challenge_response",
                                               "pair.csr_request", "pair.csr_installed"};

    /// Runs a handshake in which messages of `type` are changed, and returns how the gateway ended.
    PairingStep ended_when(std::string_view type,
                           const std::function<void(std::string&)>& change_text,
                           const PairingRequest& wanted) {
        return run(wanted,
                   [&](std::string& text) {
                       if (type_of(text) == type) change_text(text);
                       return true;
                   })
            .gateway;
    }
    PairingStep ended_when(std::string_view type,
                           const std::function<void(std::string&)>& change_text) {
        return ended_when(type, change_text, request());
    }
    template <class Message>
    PairingStep ended_when_signed(const std::function<void(Message&)>& edit,
                                  std::optional<PairingRequest> wanted = {}) {
        return ended_when(
            Message::kType, [&](std::string& text) { change<Message>(text, remote_key, edit); },
            wanted.value_or(request()));
    }
    static void expect_refusal(const PairingStep& step, PairingCode code) {
        ASSERT_TRUE(step.error);
        EXPECT_EQ(token_of(step.error->code), token_of(code)) << step.error->message;
        EXPECT_EQ(complaint_in(step).code, token_of(code));
    }
    bool has_active_peer() const {
        return std::ranges::any_of(peers.peers, [](const auto& entry) {
            return entry.second.status == PeerStatus::kActive;
        });
    }
    /// A request whose names the test chooses, for the remote's key.
    static std::string csr(const crypto::PrivateKey& key, const crypto::AltNames& names = {}) {
        return crypto::make_certificate_request(key, "root", names);
    }
};

TEST_F(GatewayPairingTest, IdsAre32HexDigitsAndNoncesHave24Bytes) {
    std::string challenge_id;
    auto left = gateway();
    auto right = remote();
    const auto init =
        MessageText::parse(left.start(std::nullopt).send.at(0))->as<PairInit>(std::nullopt);
    EXPECT_THAT(init->pairing_id, MatchesRegex("[0-9a-f]{32}"));
    EXPECT_EQ(init->pairing_id, left.pairing_id());
    EXPECT_EQ(init->nonce.size(), 24u);
    EXPECT_EQ(init->issued_at.text().back(), 'Z');
    const auto identity = right.on_message(to_wire(*init)).send.at(0);
    const auto challenge =
        MessageText::parse(left.on_message(identity).send.at(0))->as<PairChallenge>(std::nullopt);
    EXPECT_THAT(challenge->challenge_id, MatchesRegex("[0-9a-f]{32}"));
    EXPECT_EQ(challenge->ciphertext.size(), 72u);
    auto second = gateway();
    EXPECT_NE(second.pairing_id(), left.pairing_id());
}

TEST_F(GatewayPairingTest, AnotherTypeVersionOrIdAbortsAtEachMessage) {
    for (const std::string& type : from_remote) {
        const auto replaced = [&](std::string_view from, std::string_view to) {
            return ended_when(
                type, [&](std::string& text) { text.replace(text.find(from), from.size(), to); });
        };
        expect_refusal(replaced(type, "pair.other"), PairingCode::kProtocolViolation);
        expect_refusal(replaced("\"v1\"", "\"v2\""), PairingCode::kUnsupportedVersion);
        expect_refusal(replaced("\"pairing_id\":\"", "\"pairing_id\":\"0"),
                       PairingCode::kProtocolViolation);
        expect_refusal(replaced("sig_ed25519", "signature"), PairingCode::kProtocolViolation);
        expect_refusal(ended_when(type, [](std::string& text) { text = "{"; }),
                       PairingCode::kProtocolViolation);
        EXPECT_FALSE(has_active_peer());
    }
}

TEST_F(GatewayPairingTest, MessagesOutOfOrderAbort) {
    for (const std::string& type : from_remote) {
        std::vector<std::string> earlier{
            R"({"type":"pair.complete","version":"v1","pairing_id":"x","status":"ok"})"};
        const Ends ends = run(request(), [&](std::string& text) {
            const bool swap = type_of(text) == type;
            if (!type_of(text).starts_with("pair.c") || swap) earlier.push_back(text);
            if (swap) text = earlier.front();
            return true;
        });
        expect_refusal(ends.gateway, PairingCode::kProtocolViolation);
    }
    // The same message twice: the second pair.identity is not a challenge's answer.
    auto left = gateway();
    auto right = remote();
    const std::string identity = right.on_message(left.start(std::nullopt).send.at(0)).send.at(0);
    EXPECT_FALSE(left.on_message(identity).close);
    expect_refusal(left.on_message(identity), PairingCode::kProtocolViolation);
    // after the end nothing counts
    for (const PairingStep& step :
         {left.on_message(identity), left.on_closed(), left.on_deadline()}) {
        EXPECT_EQ(code_of(step), PairingCode::kProtocolViolation);
        EXPECT_TRUE(step.close && step.send.empty());
    }
}

TEST_F(GatewayPairingTest, AllFourSignaturesOfTheRemoteAreChecked) {
    const auto stranger = crypto::Ed25519Key::generate(random);
    const auto resigned = [&]<class Message>(Message*) {
        return ended_when(Message::kType, [&](std::string& text) {
            change<Message>(text, stranger, [](Message&) {});
        });
    };
    expect_refusal(resigned(static_cast<PairIdentity*>(nullptr)), PairingCode::kSignatureInvalid);
    expect_refusal(resigned(static_cast<PairChallengeResponse*>(nullptr)),
                   PairingCode::kSignatureInvalid);
    expect_refusal(resigned(static_cast<PairCsrRequest*>(nullptr)), PairingCode::kSignatureInvalid);
    expect_refusal(resigned(static_cast<PairCsrInstalled*>(nullptr)),
                   PairingCode::kSignatureInvalid);
    EXPECT_FALSE(has_active_peer());
}

TEST_F(GatewayPairingTest, AnotherTypeOrIdIsNotTheRemoteThatWasAskedFor) {
    expect_refusal(ended_when_signed<PairIdentity>([](PairIdentity& identity) {
                       identity.component_type = ComponentType::kListener;
                   }),
                   PairingCode::kIdentityMismatch);
    for (const std::string_view id : {"Memory", "memory2", "", "mem <east>&1"}) {
        expect_refusal(ended_when_signed<PairIdentity>(
                           [&](PairIdentity& identity) { identity.component_id = id; }),
                       PairingCode::kIdentityMismatch);
    }
}

TEST_F(GatewayPairingTest, AnotherRemoteKeyAbortsBeforeTheChallenge) {
    PairingRequest wanted = request();
    wanted.remote_key = gateway_key.public_key();
    bool challenged = false;
    const Ends ends = run(wanted, [&](std::string& text) {
        challenged = challenged || type_of(text) == "pair.challenge";
        return true;
    });
    expect_refusal(ends.gateway, PairingCode::kIdentityMismatch);
    EXPECT_EQ(code_of(ends.remote), PairingCode::kIdentityMismatch);
    EXPECT_FALSE(challenged);
    wanted.remote_key = remote_key.public_key();
    pair(wanted);
}

TEST_F(GatewayPairingTest, TheSignedFingerprintIsThatOfTheTlsLeaf) {
    const auto wanted = request(Kind::kPair, wss_endpoint);
    const std::string other = "sha256:" + std::string(64, '0');
    expect_refusal(
        ended_when_signed<PairIdentity>(
            [&](PairIdentity& identity) { identity.mtls_cert_fingerprint = other; }, wanted),
        PairingCode::kIdentityMismatch);
    expect_refusal(
        ended_when_signed<PairIdentity>(
            [](PairIdentity& identity) { identity.mtls_cert_fingerprint.clear(); }, wanted),
        PairingCode::kIdentityMismatch);
    const auto upper = ended_when_signed<PairIdentity>(
        [](PairIdentity& identity) {
            for (char& c : identity.mtls_cert_fingerprint) c = static_cast<char>(std::toupper(c));
        },
        wanted);
    EXPECT_TRUE(upper.succeeded());
}

TEST_F(GatewayPairingTest, AForeignPinOrAnExpiredCertificateIsToldNothingAtAll) {
    pair(request(Kind::kPair, wss_endpoint));
    for (const Kind kind : {Kind::kPair, Kind::kRenew}) {
        auto left = gateway(request(kind, wss_endpoint));
        EXPECT_EQ(left.plan().tls_trust(), TlsTrust::kPin);
        const PairingStep step = left.start(bootstrap);
        EXPECT_EQ(code_of(step), PairingCode::kIdentityMismatch);
        EXPECT_TRUE(step.send.empty());
        EXPECT_TRUE(step.close);
    }
    auto without = gateway(request(Kind::kRenew));
    EXPECT_EQ(code_of(without.start(std::nullopt)), PairingCode::kMtlsRequired);
    clock.advance(366 * 24h);
    auto expired = gateway(request(Kind::kRenew));
    EXPECT_EQ(code_of(expired.start(shown())), PairingCode::kIdentityMismatch);
    auto replaced = gateway(request(Kind::kReplace, wss_endpoint));
    EXPECT_EQ(replaced.plan().tls_trust(), TlsTrust::kFirstUse);
    EXPECT_EQ(code_of(replaced.start(bootstrap)), std::nullopt);
}

TEST_F(GatewayPairingTest, AKnownPeerMustHaveItsRecordedKeys) {
    pair(request(Kind::kPair, wss_endpoint));
    const PeerRecord before = peers.peers.at(name);
    const auto old_key = remote_key;
    remote_key = crypto::Ed25519Key::generate(random);
    expect_refusal(run(request(Kind::kPair, wss_endpoint)).gateway, PairingCode::kIdentityMismatch);
    expect_refusal(run(request(Kind::kRenew)).gateway, PairingCode::kIdentityMismatch);
    remote_key = old_key;
    agreement_key = crypto::X25519Key::generate(random);
    expect_refusal(run(request(Kind::kRenew)).gateway, PairingCode::kIdentityMismatch);
    EXPECT_EQ(peers.peers.at(name), before);
}

TEST_F(GatewayPairingTest, AnX25519KeyOfSmallOrderIsRefused) {
    expect_refusal(ended_when_signed<PairIdentity>(
                       [](PairIdentity& identity) { identity.public_key_x25519 = {}; }),
                   PairingCode::kChallengeFailed);
}

TEST_F(GatewayPairingTest, AWrongPlaintextOrChallengeAborts) {
    expect_refusal(ended_when_signed<PairChallengeResponse>([](PairChallengeResponse& response) {
                       response.challenge_plaintext += "=";
                   }),
                   PairingCode::kChallengeFailed);
    expect_refusal(ended_when_signed<PairChallengeResponse>([](PairChallengeResponse& response) {
                       response.challenge_plaintext[3] ^= 1;
                   }),
                   PairingCode::kChallengeFailed);
    expect_refusal(ended_when_signed<PairChallengeResponse>([](PairChallengeResponse& response) {
                       // "encoded again"
                       response.challenge_plaintext =
                           to_base64(bytes_of(response.challenge_plaintext));
                   }),
                   PairingCode::kChallengeFailed);
    expect_refusal(ended_when_signed<PairChallengeResponse>(
                       [](PairChallengeResponse& response) { response.challenge_id[0] ^= 1; }),
                   PairingCode::kChallengeFailed);
    EXPECT_TRUE(peers.certificates.empty());
}

TEST_F(GatewayPairingTest, ABrokenRequestOrAWeakOrUsedKeyIsRefused) {
    const auto refused = [&](const std::string& pem) {
        expect_refusal(ended_when_signed<PairCsrRequest>(
                           [&](PairCsrRequest& message) { message.csr_pem = pem; }),
                       PairingCode::kCsrRejected);
    };
    const std::string good = csr(crypto::PrivateKey::generate_p256());
    refused("");
    refused("-----BEGIN CERTIFICATE REQUEST-----\nabc\n-----END CERTIFICATE REQUEST-----\n");
    refused(good + good);
    std::string broken = good;
    broken[200] = broken[200] == 'A' ? 'B' : 'A';
    refused(broken);
    refused(csr(crypto::test::rsa_key(1024)));
    refused(good + std::string(16 << 10, '\n'));
    EXPECT_TRUE(peers.certificates.empty());

    const auto key = crypto::PrivateKey::generate_p256();
    // issued; the remote then says no
    ended_when_signed<PairCsrRequest>([&](PairCsrRequest& message) { message.csr_pem = csr(key); });
    ASSERT_EQ(peers.certificates.size(), 1u);
    refused(csr(key));
}

TEST_F(GatewayPairingTest, NamesOfTheRequestDoNotSurvive) {
    const crypto::AltNames greedy{.uris = {"crab://peer/operator/admin", "crab://gateway/home"},
                                  .dns_names = {"bank.example"},
                                  .ip_addresses = {"192.0.2.1"}};
    ended_when_signed<PairCsrRequest>(
        [&](PairCsrRequest& message) { message.csr_pem = csr(crypto::test::p384_key(), greedy); });
    ASSERT_EQ(peers.certificates.size(), 1u);
    const auto leaf = crypto::Certificate::from_pem(peers.certificates[0].certificate_pem);
    EXPECT_EQ(leaf->common_name(), "memory");
    EXPECT_EQ(leaf->alt_names(), (crypto::AltNames{.uris = {"crab://peer/tool_host/memory"},
                                                   .dns_names = {},
                                                   .ip_addresses = {"127.0.0.1"}}));
    EXPECT_EQ(leaf->public_key().kind, crypto::KeyKind::kP384);
}

TEST_F(GatewayPairingTest, AnotherInstalledCertificateAborts) {
    expect_refusal(ended_when_signed<PairCsrInstalled>([](PairCsrInstalled& message) {
                       message.mtls_cert_fingerprint = "sha256:" + std::string(64, 'a');
                   }),
                   PairingCode::kCertificateRejected);
    EXPECT_FALSE(has_active_peer());
    EXPECT_EQ(peers.peers.at(name).status, PeerStatus::kPending);
}

TEST_F(GatewayPairingTest, NoFailureChangesAnActiveRecord) {
    pair(request(Kind::kPair, wss_endpoint));
    const PeerRecord before = peers.peers.at(name);
    for (const std::string& type : from_remote) {
        const auto garbled = [](std::string& text) {
            text.replace(text.find("sig_ed25519") + 14, 4, "AAAA");
        };
        for (const Kind kind : {Kind::kPair, Kind::kReplace, Kind::kRenew}) {
            EXPECT_TRUE(ended_when(type, garbled, request(kind, wss_endpoint)).error) << type;
            EXPECT_EQ(peers.peers.at(name), before) << type;
            EXPECT_EQ(peers.certificates.at(0).state, CertificateState::kCurrent) << type;
            remote_store.certificates.installed.reset();
        }
    }
}

TEST_F(GatewayPairingTest,
       TheRecordIsStoredBeforeCompleteIsSentAndTheCertificateBeforeItIsHandedOut) {
    const Ends ends = run(request(), [&](std::string& text) {
        if (type_of(text) == "pair.csr_issued") {
            EXPECT_EQ(peers.certificates.size(), 1u);
            EXPECT_EQ(peers.peers.at(name).status, PeerStatus::kPending);
        }
        if (type_of(text) == "pair.complete")
            EXPECT_EQ(peers.peers.at(name).status, PeerStatus::kActive);
        return true;
    });
    EXPECT_TRUE(ends.gateway.succeeded());
}

TEST_F(GatewayPairingTest, AFailingStoreSendsPersistFailedAndNothingElse) {
    for (const int write : {1, 2}) {
        peers.fail_from_write = write;
        std::vector<std::string> sent;
        const Ends ends = run(request(), [&](std::string& text) {
            sent.push_back(type_of(text));
            return true;
        });
        expect_refusal(ends.gateway, PairingCode::kPersistFailed);
        EXPECT_EQ(ends.gateway.close, 1011);
        EXPECT_EQ(sent.back(), "pair.error");
        EXPECT_EQ(std::ranges::count(sent, "pair.csr_issued"), write - 1);
        EXPECT_EQ(std::ranges::count(sent, "pair.complete"), 0);
        EXPECT_EQ(code_of(ends.remote), PairingCode::kPersistFailed);
        EXPECT_FALSE(remote_store.certificates.shown());  // and the remote went back to what it had
        EXPECT_FALSE(has_active_peer());
        peers.fail_from_write.reset();
    }
    peers.reads_fail = true;
    EXPECT_EQ(plan_pairing(peers, request(), {}).error().code, PairingCode::kPersistFailed);
}

TEST_F(GatewayPairingTest, APeerThatWasRevokedDuringItsRenewalStaysRevoked) {
    pair(request(Kind::kPair, wss_endpoint));
    const Ends ends = run(request(Kind::kRenew), [&](std::string& text) {
        if (type_of(text) == "pair.csr_installed")
            peers.peers.at(name).status = PeerStatus::kRevoked;
        return true;
    });
    expect_refusal(ends.gateway, PairingCode::kPersistFailed);
    EXPECT_EQ(peers.peers.at(name).status, PeerStatus::kRevoked);
    EXPECT_EQ(shown().fingerprint(), peers.peers.at(name).mtls_cert_fingerprint);
}

TEST_F(GatewayPairingTest, FifteenSecondsEndAHandshakeHoweverSlowlyItDrips) {
    for (const std::string& type : from_remote) {
        const PairingStep step =
            ended_when(type, [&](std::string&) { clock.advance(kPairingTimeout); });
        expect_refusal(step, PairingCode::kTimeout);
    }
    auto left = gateway();
    left.start(std::nullopt);
    expect_refusal(left.on_deadline(), PairingCode::kTimeout);
    EXPECT_TRUE(left.on_closed().send.empty());
    EXPECT_FALSE(has_active_peer());
}

TEST_F(GatewayPairingTest, OversizeTextsCloseWith1009) {
    const PairingStep step = ended_when("pair.identity", [](std::string& text) {
        text.append(kMostMessageBytes + 1 - text.size(), ' ');
    });
    expect_refusal(step, PairingCode::kProtocolViolation);
    EXPECT_EQ(step.close, 1009);
}

TEST_F(GatewayPairingTest, WhatTheRemoteComplainsOfIsPassedOn) {
    const auto told = [&](std::string_view code, std::string_view message) {
        auto left = gateway();
        left.start(std::nullopt);
        const PairingStep step =
            left.on_message(to_wire(PairError{"", std::string(code), std::string(message)}));
        EXPECT_TRUE(step.send.empty());
        EXPECT_TRUE(step.close);
        return *step.error;
    };
    EXPECT_EQ(told("STALE_INIT", "old").code, PairingCode::kStaleInit);
    EXPECT_EQ(told("BUSY", "later").code, PairingCode::kBusy);
    EXPECT_EQ(told("HANDSHAKE_FAILED", "no\nway").code, PairingCode::kRemoteRefused);
    EXPECT_EQ(told("HANDSHAKE_FAILED", "no\nway").message,
              "the remote says: HANDSHAKE_FAILED: no way");
    EXPECT_EQ(told("CSR_REJECTED", "a gateway's word").code, PairingCode::kRemoteRefused);
    EXPECT_LE(told("X", std::string(60'000, 'x')).message.size(), 300u);
}

TEST_F(GatewayPairingTest, AConnectionThatEndsIsUnreachable) {
    auto left = gateway();
    left.start(std::nullopt);
    EXPECT_EQ(code_of(left.on_closed()), PairingCode::kUnreachable);
}

}  // namespace
}  // namespace crab::trust
