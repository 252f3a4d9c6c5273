#include "trust/pairing/remote_pairing.hpp"

#include "base/encoding.hpp"
#include "trust/pairing/challenge_cipher.hpp"
#include "trust/pairing/test_handshake.hpp"

#include <gmock/gmock.h>

namespace crab::trust {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class RemotePairingTest : public HandshakeTest {
protected:
    PairingStep ended_when(std::string_view type,
                           const std::function<void(std::string&)>& change_text) {
        return run(request(),
                   [&](std::string& text) {
                       if (type_of(text) == type) change_text(text);
                       return true;
                   })
            .remote;
    }
    template <class Message>
    PairingStep ended_when_signed(const std::function<void(Message&)>& edit) {
        return ended_when(Message::kType,
                          [&](std::string& text) { change<Message>(text, gateway_key, edit); });
    }
    static void expect_refusal(const PairingStep& step, PairingCode code) {
        ASSERT_TRUE(step.error);
        EXPECT_EQ(token_of(step.error->code), token_of(code)) << step.error->message;
        EXPECT_EQ(complaint_in(step).code, token_of(code));
    }
    /// A refusal that says nothing about this remote.
    void expect_nothing_told(const PairingStep& step, PairingCode code) {
        expect_refusal(step, code);
        EXPECT_THAT(step.send.at(0), Not(HasSubstr(name.id)));
        EXPECT_THAT(step.send.at(0), Not(HasSubstr(to_base64(remote_key.public_key()))));
        EXPECT_THAT(step.send.at(0), Not(HasSubstr(to_base64(gateway_key.public_key()))));
    }
    /// pair.csr_issued for a certificate of this subject, key and time, by `by`, with the chain
    /// that proves it.
    void issue(PairCsrIssued& message, const crypto::CertificateAuthority& by,
               const crypto::PublicKey& key, crypto::AltNames names, SystemTime at) const {
        const auto leaf = *by.issue({"memory", std::move(names)}, key, at);
        message.certificate_pem = leaf.to_pem();
        message.certificate_chain_pem = {by.certificate().to_pem()};
        message.serial_number = leaf.serial_number();
        message.mtls_cert_fingerprint = leaf.fingerprint();
        message.not_before = SignedTime::from(leaf.not_before());
        message.not_after = SignedTime::from(leaf.not_after());
    }
    /// Whether the remote installs the certificate in a message that its gateway changed.
    bool installs(const std::function<void(PairCsrIssued&)>& edit) {
        bool installed = false;
        run(request(), [&](std::string& text) {
            if (type_of(text) == PairCsrIssued::kType)
                change<PairCsrIssued>(text, gateway_key, edit);
            installed = installed || type_of(text) == PairCsrInstalled::kType;
            return true;
        });
        return installed;
    }
    static crypto::PublicKey key_in(const PairCsrIssued& message) {
        return crypto::Certificate::from_pem(message.certificate_pem)->public_key();
    }
    const crypto::AltNames own{
        .uris = {"crab://peer/tool_host/memory"}, .dns_names = {}, .ip_addresses = {}};
};

TEST_F(RemotePairingTest, AnotherKeyABadSignatureAnOldTimeOrASeenNonceIsToldNothing) {
    const auto stranger = crypto::Ed25519Key::generate(random);
    expect_nothing_told(ended_when("pair.init",
                                   [&](std::string& text) {
                                       change<PairInit>(text, stranger, [&](PairInit& init) {
                                           init.public_key_ed25519 = stranger.public_key();
                                       });
                                   }),
                        PairingCode::kGatewayKeyMismatch);
    expect_nothing_told(
        ended_when("pair.init",
                   [&](std::string& text) { change<PairInit>(text, stranger, [](PairInit&) {}); }),
        PairingCode::kSignatureInvalid);
    for (const auto off : {-301s, 301s, std::chrono::seconds(-24h)}) {
        expect_nothing_told(ended_when_signed<PairInit>([&](PairInit& init) {
                                init.issued_at = SignedTime::from(clock.system_now() + off);
                            }),
                            PairingCode::kStaleInit);
    }
    for (const auto off : {-300s, 300s}) {
        EXPECT_TRUE(ended_when_signed<PairInit>([&](PairInit& init) {
                        init.issued_at = SignedTime::from(clock.system_now() + off);
                    }).succeeded());
    }
}

TEST_F(RemotePairingTest, ANonceIsRefusedForFifteenMinutesEvenAfterARestart) {
    std::string init;
    run(request(), [&](std::string& text) {
        if (init.empty()) init = text;
        return true;
    });
    auto restarted = remote();  // all it knows is in the store
    expect_nothing_told(restarted.on_message(init), PairingCode::kStaleInit);
    clock.advance(RemoteStore::kNonceLife);
    change<PairInit>(init, gateway_key, [&](PairInit& message) {
        message.issued_at = SignedTime::from(clock.system_now());
    });
    auto later = remote();
    expect_nothing_told(later.on_message(init), PairingCode::kStaleInit);
    clock.advance(1s);
    auto much_later = remote();
    EXPECT_FALSE(much_later.on_message(init).error);
}

TEST_F(RemotePairingTest, TheRequestIsSentRightAfterTheAnswerWithoutWaiting) {
    auto left = gateway();
    auto right = remote();
    const auto identity = right.on_message(left.start(std::nullopt).send.at(0)).send.at(0);
    const PairingStep step = right.on_message(left.on_message(identity).send.at(0));
    ASSERT_EQ(step.send.size(), 2u);
    EXPECT_EQ(type_of(step.send[0]), "pair.challenge_response");
    EXPECT_EQ(type_of(step.send[1]), "pair.csr_request");
}

TEST_F(RemotePairingTest, AChallengeWithForeignIdsOrForAnotherKeyIsRefused) {
    const auto sealed_for = [&](const crypto::X25519PublicKey& key, std::string_view aad_pairing,
                                std::string_view aad_challenge) {
        return ended_when("pair.challenge", [&](std::string& text) {
            PairChallenge challenge = *MessageText::parse(text)->as<PairChallenge>(std::nullopt);
            const auto pairing =
                aad_pairing.empty() ? std::string_view(challenge.pairing_id) : aad_pairing;
            const auto id =
                aad_challenge.empty() ? std::string_view(challenge.challenge_id) : aad_challenge;
            auto sealed =
                seal_challenge(key, pairing, id, "plain", crypto::X25519Key::generate(random), {});
            challenge.ciphertext = sealed->ciphertext;
            challenge.aad = sealed->aad;
            text = to_wire(challenge);
        });
    };
    expect_refusal(sealed_for(agreement_key.public_key(), "other", ""),
                   PairingCode::kChallengeFailed);
    expect_refusal(sealed_for(agreement_key.public_key(), "", "other"),
                   PairingCode::kChallengeFailed);
    expect_refusal(sealed_for(crypto::X25519Key::generate(random).public_key(), "", ""),
                   PairingCode::kChallengeFailed);
    // decrypts, but the gateway knows another text
    EXPECT_EQ(code_of(sealed_for(agreement_key.public_key(), "", "")),
              PairingCode::kChallengeFailed);
}

TEST_F(RemotePairingTest, ACertificateForAnotherKeyNameChainOrTimeIsRefused) {
    const SystemTime now = clock.system_now();
    const auto other_key = crypto::PrivateKey::generate_p256().public_key();
    const auto other_ca = crypto::CertificateAuthority::create("crab-pairing-ca-home", now);
    const auto old_ca =
        crypto::CertificateAuthority::create("crab-pairing-ca-home", now - 24h * 3649);
    const auto refused = [&](const std::function<void(PairCsrIssued&)>& edit) {
        expect_refusal(ended_when_signed<PairCsrIssued>(edit), PairingCode::kCertificateRejected);
        EXPECT_FALSE(remote_store.certificates.shown());
    };
    refused([&](PairCsrIssued& message) { issue(message, authority, other_key, own, now); });
    refused([&](PairCsrIssued& message) {
        issue(message, authority, key_in(message),
              {.uris = {"crab://peer/tool_host/other"}, .dns_names = {}, .ip_addresses = {}}, now);
    });
    refused([&](PairCsrIssued& message) {
        issue(message, authority, key_in(message),
              {.uris = {}, .dns_names = {"memory"}, .ip_addresses = {}}, now);
    });
    refused([&](PairCsrIssued& message) {
        issue(message, authority, key_in(message),
              {.uris = {own.uris[0], "crab://gateway/home"}, .dns_names = {}, .ip_addresses = {}},
              now);
    });
    refused([&](PairCsrIssued& message) {
        issue(message, authority, key_in(message), own, now + 11min);
    });
    refused([&](PairCsrIssued& message) {
        issue(message, old_ca, key_in(message), own, now - 24h * 366);
    });
    refused([&](PairCsrIssued& message) {
        message.certificate_chain_pem = {other_ca.certificate().to_pem()};
    });
    refused([&](PairCsrIssued& message) { message.certificate_chain_pem.clear(); });
    refused(
        [&](PairCsrIssued& message) { message.certificate_chain_pem = {message.certificate_pem}; });
    refused(
        [&](PairCsrIssued& message) { message.certificate_chain_pem.push_back("no certificate"); });
    refused([&](PairCsrIssued& message) { message.certificate_pem += message.certificate_pem; });
    refused([&](PairCsrIssued& message) { message.certificate_pem = bootstrap.to_pem(); });
    refused([&](PairCsrIssued& message) { message.serial_number = "1"; });
    refused([&](PairCsrIssued& message) {
        message.mtls_cert_fingerprint.back() =
            message.mtls_cert_fingerprint.back() == '0' ? '1' : '0';
    });
    refused([&](PairCsrIssued& message) { message.not_before.whole += 1s; });
    refused([&](PairCsrIssued& message) { message.not_after.whole -= 1s; });
}

TEST_F(RemotePairingTest, ClocksMayDifferByFiveMinutes) {
    // Certificates begin 5 minutes before they are issued, so that an issuer may be 10 minutes
    // ahead.
    const auto installs_if_issued_at = [&](SystemTime at) {
        return installs(
            [&](PairCsrIssued& message) { issue(message, authority, key_in(message), own, at); });
    };
    const SystemTime now = clock.system_now();
    EXPECT_TRUE(installs_if_issued_at(now + 10min));
    EXPECT_FALSE(installs_if_issued_at(now + 10min + 1s));
    clock.advance(365 * 24h);
    EXPECT_TRUE(installs_if_issued_at(now - 5min));
    EXPECT_FALSE(installs_if_issued_at(now - 5min - 1s));
}

TEST_F(RemotePairingTest, OnlyTheConfiguredGatewaySignsCertificates) {
    const auto stranger = crypto::Ed25519Key::generate(random);
    expect_refusal(ended_when("pair.csr_issued",
                              [&](std::string& text) {
                                  change<PairCsrIssued>(text, stranger, [](PairCsrIssued&) {});
                              }),
                   PairingCode::kSignatureInvalid);
}

TEST_F(RemotePairingTest, AnotherTypeVersionOrIdAbortsAtEachMessage) {
    for (const std::string type :
         {"pair.init", "pair.challenge", "pair.csr_issued", "pair.complete"}) {
        const auto replaced = [&](std::string_view from, std::string_view to) {
            return ended_when(
                type, [&](std::string& text) { text.replace(text.find(from), from.size(), to); });
        };
        expect_refusal(replaced(type, "pair.other"), PairingCode::kProtocolViolation);
        expect_refusal(replaced("\"v1\"", "\"v2\""), PairingCode::kUnsupportedVersion);
        expect_refusal(replaced("\"pairing_id\":\"", "\"pairing_id\":\" "),
                       PairingCode::kProtocolViolation);
        const PairingStep oversize = ended_when(
            type, [](std::string& text) { text.append(kMostMessageBytes + 1 - text.size(), ' '); });
        expect_refusal(oversize, PairingCode::kProtocolViolation);
        EXPECT_EQ(oversize.close, 1009);
        expect_refusal(ended_when(type, [&](std::string&) { clock.advance(kPairingTimeout); }),
                       PairingCode::kTimeout);
    }
    expect_refusal(
        ended_when("pair.complete",
                   [](std::string& text) { text.replace(text.find("\"ok\""), 4, "\"no\""); }),
        PairingCode::kProtocolViolation);
}

TEST_F(RemotePairingTest, KeyCertificateAndAuthorityAreStoredBeforeInstalledIsSaid) {
    bool said = false;
    run(request(), [&](std::string& text) {
        if (type_of(text) != "pair.csr_installed") return true;
        said = true;
        EXPECT_TRUE(remote_store.certificates.installed);
        EXPECT_FALSE(remote_store.certificates.paired);
        EXPECT_EQ(remote_store.certificates.installed->ca_pem, authority.certificate().to_pem());
        return true;
    });
    EXPECT_TRUE(said);
    EXPECT_TRUE(remote_store.certificates.paired);
}

TEST_F(RemotePairingTest, AFailingStoreSendsPersistFailed) {
    for (const int write : {1, 2, 3}) {  // nonce, certificate, completion
        remote_store.fail_from_write = write;
        const Ends ends = run(request());
        expect_refusal(ends.remote, PairingCode::kPersistFailed);
        EXPECT_EQ(ends.gateway.succeeded(), write == 3);
        EXPECT_FALSE(remote_store.certificates.paired);
        remote_store.fail_from_write.reset();
    }
    // and the gateway's next request completes it
    EXPECT_TRUE(remote_store.certificates.installed);
}

TEST_F(RemotePairingTest, AnErrorAfterInstallingBringsTheOldCertificateBack) {
    pair(request(Kind::kPair, wss_endpoint));
    const std::string old = shown().fingerprint();
    const Ends ends = run(request(Kind::kRenew), [&](std::string& text) {
        // from 7 on
        if (type_of(text) == "pair.csr_installed") EXPECT_NE(shown().fingerprint(), old);
        if (type_of(text) == "pair.complete") text = to_wire(PairError{"", "PERSIST_FAILED", "no"});
        return true;
    });
    EXPECT_EQ(code_of(ends.remote), PairingCode::kPersistFailed);
    EXPECT_EQ(shown().fingerprint(), old);
}

TEST_F(RemotePairingTest, ACertificateWithTheNamesOfTheRequestIsInstalledToo) {
    // As the original does, whose stated dates also keep the fraction that certificates drop.
    EXPECT_TRUE(installs([&](PairCsrIssued& message) {
        issue(message, authority, key_in(message),
              {.uris = own.uris, .dns_names = {"wanted.example"}, .ip_addresses = {"127.0.0.1"}},
              clock.system_now());
        message.not_before.fraction = 123ms;
    }));
}

TEST_F(RemotePairingTest, ASecondConnectionHearsBusy) {
    const PairingStep step = RemotePairing::busy();
    expect_refusal(step, PairingCode::kBusy);
}

}  // namespace
}  // namespace crab::trust
