#include "trust/pairing/peer_check.hpp"

#include "base/test_clock.hpp"
#include "crypto/certificate_authority.hpp"

#include <gtest/gtest.h>

namespace crab::trust {
namespace {

using namespace std::chrono_literals;

class PeerCheckTest : public testing::Test {
protected:
    FakeClock clock;
    SystemTime now = clock.system_now();
    crypto::CertificateAuthority authority =
        crypto::CertificateAuthority::create("crab-pairing-ca-home", now);
    crypto::PrivateKey key = crypto::PrivateKey::generate_p256();
    PeerName name{ComponentType::kToolHost, "memory"};
    crypto::Certificate leaf = issue({name.uri()});
    PeerRecord peer{
        .name = name, .mtls_cert_fingerprint = leaf.fingerprint(), .status = PeerStatus::kActive};

    crypto::Certificate issue(std::vector<std::string> uris) const {
        return *authority.issue(
            {"memory",
             {.uris = std::move(uris), .dns_names = {"memory.example"}, .ip_addresses = {}}},
            key.public_key(), now);
    }
    std::string refusal(const crypto::Certificate& shown, SystemTime at) const {
        const auto checked = check_peer(peer, shown, authority.certificate(), at);
        return checked ? "" : std::string(token_of(checked.error().code));
    }
};

TEST_F(PeerCheckTest, ThePinnedCertificateOfAnActivePeerPasses) {
    EXPECT_EQ(refusal(leaf, now), "");
}

TEST_F(PeerCheckTest, ForeignChainsAndTimesAreUnauthenticated) {
    const auto other = crypto::CertificateAuthority::create("crab-pairing-ca-home", now);
    EXPECT_EQ(refusal(*other.issue({"memory", leaf.alt_names()}, key.public_key(), now), now),
              "UNAUTHENTICATED");
    EXPECT_EQ(refusal(crypto::make_self_signed(key, {"memory", leaf.alt_names()}, now, 24h), now),
              "UNAUTHENTICATED");
    EXPECT_EQ(refusal(leaf, now + 366 * 24h), "UNAUTHENTICATED");
}

TEST_F(PeerCheckTest, ACertificateWithAnotherOrASecondNameIsForbidden) {
    for (const auto& uris :
         std::vector<std::vector<std::string>>{{},
                                               {"crab://peer/tool_host/cron"},
                                               {"crab://gateway/home"},
                                               {name.uri(), "crab://peer/operator/admin"}}) {
        const auto other = issue(uris);
        peer.mtls_cert_fingerprint = other.fingerprint();
        EXPECT_EQ(refusal(other, now), "FORBIDDEN");
    }
}

TEST_F(PeerCheckTest, AnotherCertificateOfTheSamePeerIsNotItsPin) {
    EXPECT_EQ(refusal(issue({name.uri()}), now), "FORBIDDEN");
}

TEST_F(PeerCheckTest, OnlyActivePeersPass) {
    for (const PeerStatus status :
         {PeerStatus::kPending, PeerStatus::kInactive, PeerStatus::kRevoked}) {
        peer.status = status;
        EXPECT_EQ(refusal(leaf, now), "PAIRING_REQUIRED");
    }
}

}  // namespace
}  // namespace crab::trust
