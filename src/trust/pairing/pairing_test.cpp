// Both sides of a pairing against each other.

#include "trust/pairing/test_handshake.hpp"

namespace crab::trust {
namespace {

using namespace std::chrono_literals;

class PairingTest : public HandshakeTest {};

TEST_F(PairingTest, AFirstPairingOverLoopbackEndsWithTheSameCertificateOnBothSides) {
    std::vector<std::string> types;
    const Ends ends = run(request(), [&](std::string& text) {
        types.push_back(type_of(text));
        return true;
    });
    ASSERT_TRUE(ends.gateway.succeeded()) << ends.gateway.error->message;
    ASSERT_TRUE(ends.remote.succeeded()) << ends.remote.error->message;
    EXPECT_EQ(types,
              (std::vector<std::string>{"pair.init", "pair.identity", "pair.challenge",
                                        "pair.challenge_response", "pair.csr_request",
                                        "pair.csr_issued", "pair.csr_installed", "pair.complete"}));
    EXPECT_EQ(ends.gateway.close, 1000);
    const PeerRecord& record = peers.peers.at(name);
    EXPECT_EQ(record.status, PeerStatus::kActive);
    EXPECT_EQ(record.endpoint, ws_endpoint);
    EXPECT_EQ(record.public_key_ed25519, remote_key.public_key());
    EXPECT_EQ(record.public_key_x25519, agreement_key.public_key());
    EXPECT_EQ(record.mtls_cert_fingerprint, shown().fingerprint());
    EXPECT_EQ(record.serial_number, shown().serial_number());
    EXPECT_EQ(peers.certificates.at(0).state, CertificateState::kCurrent);
    ASSERT_TRUE(remote_store.certificates.paired);
    EXPECT_EQ(remote_store.certificates.paired->gateway_id, "home");
    EXPECT_FALSE(remote_store.certificates.installed);
    const auto key = crypto::PrivateKey::from_pem(remote_store.certificates.paired->key_pem);
    EXPECT_EQ(key->public_key(), shown().public_key());
}

TEST_F(PairingTest, AFirstPairingOverTlsTrustsTheBootstrapCertificateThatTheRemoteSigned) {
    pair(request(Kind::kPair, wss_endpoint));
    EXPECT_EQ(shown().alt_names(), (crypto::AltNames{.uris = {"crab://peer/tool_host/memory"},
                                                     .dns_names = {"memory.example"},
                                                     .ip_addresses = {}}));
}

TEST_F(PairingTest, APairedRemoteIsRenewedWithItsKeysAndANewCertificate) {
    pair(request(Kind::kPair, wss_endpoint));
    const PeerRecord first = peers.peers.at(name);
    clock.advance(340 * 24h);
    pair(request(Kind::kRenew));
    const PeerRecord second = peers.peers.at(name);
    EXPECT_NE(second.mtls_cert_fingerprint, first.mtls_cert_fingerprint);
    EXPECT_EQ(second.public_key_ed25519, first.public_key_ed25519);
    EXPECT_EQ(second.paired_at, first.paired_at);
    EXPECT_EQ(second.endpoint, wss_endpoint);
    EXPECT_EQ(peers.certificates.at(0).state, CertificateState::kRetired);
    EXPECT_EQ(peers.certificates.at(1).state, CertificateState::kCurrent);
    EXPECT_EQ(shown().fingerprint(), second.mtls_cert_fingerprint);
}

TEST_F(PairingTest, AReplacedRemoteMayHaveNewKeysAndItsOldCertificateIsRevoked) {
    pair(request(Kind::kPair, wss_endpoint));
    remote_key = crypto::Ed25519Key::generate(random);
    agreement_key = crypto::X25519Key::generate(random);
    remote_store = {};
    pair(request(Kind::kReplace, wss_endpoint));
    EXPECT_EQ(peers.peers.at(name).public_key_ed25519, remote_key.public_key());
    EXPECT_EQ(peers.certificates.at(0).state, CertificateState::kRevoked);
    EXPECT_EQ(peers.certificates.at(0).revoked_at, clock.system_now());
}

TEST_F(PairingTest, ATestEndsAsInactiveAndMayBeRepeatedFromAnotherPort) {
    PairingRequest test = request();
    test.is_test = true;
    pair(test);
    EXPECT_EQ(peers.peers.at(name).status, PeerStatus::kInactive);
    remote_key = crypto::Ed25519Key::generate(random);
    test.endpoint = "ws://127.0.0.1:4001/v1/pair";
    pair(test);
    EXPECT_EQ(peers.peers.at(name).endpoint, test.endpoint);
}

TEST_F(PairingTest, LoopbackRemotesMayComeBackOnOtherPortsWithOtherKeys) {
    pair();
    remote_key = crypto::Ed25519Key::generate(random);
    pair(request(Kind::kPair, "ws://localhost:4001"));
    EXPECT_EQ(peers.peers.at(name).endpoint, "ws://localhost:4001");
    EXPECT_EQ(peers.peers.at(name).status, PeerStatus::kActive);
}

TEST_F(PairingTest, ALostCompleteOfARenewalIsHealedByTheCertificateThatTheRemoteShows) {
    pair(request(Kind::kPair, wss_endpoint));
    const PeerRecord before = peers.peers.at(name);
    const Ends ends = run(request(Kind::kRenew),
                          [](std::string& text) { return type_of(text) != "pair.csr_installed"; });
    EXPECT_EQ(code_of(ends.gateway), PairingCode::kUnreachable);
    EXPECT_EQ(peers.peers.at(name), before);
    const std::string fingerprint = shown().fingerprint();  // the new one, from 7 on
    ASSERT_NE(fingerprint, before.mtls_cert_fingerprint);

    EXPECT_EQ(complete_renewal(peers, before, fingerprint, clock.system_now() + 25h).value(),
              std::nullopt);
    EXPECT_EQ(complete_renewal(peers, before, bootstrap.fingerprint(), clock.system_now()).value(),
              std::nullopt);
    const auto renewed = complete_renewal(peers, before, fingerprint, clock.system_now() + 24h);
    ASSERT_TRUE(renewed && *renewed);
    EXPECT_EQ((*renewed)->mtls_cert_fingerprint, fingerprint);
    EXPECT_EQ(peers.peers.at(name), **renewed);
    EXPECT_EQ(peers.certificates.at(0).state, CertificateState::kRetired);
    EXPECT_EQ(
        complete_renewal(peers, before, before.mtls_cert_fingerprint, clock.system_now()).value(),
        std::nullopt);
}

TEST_F(PairingTest, TheNextRenewalAfterALostOneHealsTheFirst) {
    pair(request(Kind::kPair, wss_endpoint));
    run(request(Kind::kRenew),
        [](std::string& text) { return type_of(text) != "pair.csr_installed"; });
    pair(request(Kind::kRenew));
    EXPECT_EQ(peers.peers.at(name).mtls_cert_fingerprint, shown().fingerprint());
}

TEST_F(PairingTest, ALostCompleteIsHealedAtTheRemoteByTheGatewaysCertificate) {
    const Ends ends = run(request(Kind::kPair, wss_endpoint),
                          [](std::string& text) { return type_of(text) != "pair.complete"; });
    EXPECT_TRUE(ends.gateway.succeeded());
    EXPECT_EQ(code_of(ends.remote), PairingCode::kUnreachable);
    ASSERT_TRUE(remote_store.certificates.installed);
    const auto key = crypto::PrivateKey::generate_p256();
    const auto issue = [&](const crypto::CertificateAuthority& by, std::vector<std::string> uris) {
        return *by.issue({"home", {.uris = std::move(uris), .dns_names = {}, .ip_addresses = {}}},
                         key.public_key(), clock.system_now());
    };
    const SystemTime now = clock.system_now();
    const auto other = crypto::CertificateAuthority::create("crab-pairing-ca-home", now);
    EXPECT_EQ(complete_by_gateway(remote_store, issue(other, {"crab://gateway/home"}), now), false);
    EXPECT_EQ(complete_by_gateway(remote_store, issue(authority, {"crab://gateway/away"}), now),
              false);
    EXPECT_EQ(complete_by_gateway(
                  remote_store,
                  issue(authority, {"crab://gateway/home", "crab://peer/tool_host/memory"}), now),
              false);
    EXPECT_EQ(complete_by_gateway(remote_store, issue(authority, {}), now), false);
    EXPECT_EQ(complete_by_gateway(remote_store, shown(), now), false);
    EXPECT_EQ(complete_by_gateway(remote_store, issue(authority, {"crab://gateway/home"}),
                                  now + 400 * 24h),
              false);
    EXPECT_FALSE(remote_store.certificates.paired);
    EXPECT_EQ(complete_by_gateway(remote_store, issue(authority, {"crab://gateway/home"}), now),
              true);
    EXPECT_TRUE(remote_store.certificates.paired);
    EXPECT_EQ(complete_by_gateway(remote_store, issue(authority, {"crab://gateway/home"}), now),
              false);
}

TEST_F(PairingTest, NoFlippedBitOfAnyMessageIsAccepted) {
    // Every machine is copied before each message arrives, and the copy is given the message with
    // one bit changed.
    auto left = gateway();
    auto right = remote();
    std::deque<std::pair<bool, std::string>> wire;
    for (auto& text : left.start(std::nullopt).send) wire.emplace_back(true, text);
    int messages = 0;
    while (!wire.empty()) {
        const auto [to_remote, text] = wire.front();
        wire.pop_front();
        const std::size_t stride = text.size() < 700 ? 1 : 7;
        const auto remote_before = remote_store.certificates.installed.has_value();
        for (std::size_t bit = 0; bit < text.size() * 8; bit += stride) {
            std::string flipped = text;
            flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
            PairingStep step;
            if (to_remote) {
                RemotePairing copy = right;
                step = copy.on_message(flipped);
            } else {
                GatewayPairing copy = left;
                step = copy.on_message(flipped);
            }
            EXPECT_TRUE(step.error) << type_of(text) << " bit " << bit;
        }
        EXPECT_EQ(remote_store.certificates.installed.has_value(), remote_before);
        EXPECT_EQ(peers.peers.contains(name) && peers.peers.at(name).status == PeerStatus::kActive,
                  left.peer().has_value());
        const PairingStep step = to_remote ? right.on_message(text) : left.on_message(text);
        ASSERT_FALSE(step.error) << step.error->message;
        for (const auto& answer : step.send) wire.emplace_back(!to_remote, answer);
        ++messages;
    }
    EXPECT_EQ(messages, 8);
    EXPECT_TRUE(left.peer());
}

TEST_F(PairingTest, MembersThatAreNewToThisVersionBreakNothing) {
    const Ends ends = run(request(), [](std::string& text) {
        text.insert(1, R"("new":{"a":[1,"x"]},)");
        return true;
    });
    EXPECT_TRUE(ends.gateway.succeeded());
    EXPECT_TRUE(ends.remote.succeeded());
}

}  // namespace
}  // namespace crab::trust
