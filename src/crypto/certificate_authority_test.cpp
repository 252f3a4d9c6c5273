#include "crypto/certificate_authority.hpp"

#include "base/test_clock.hpp"
#include "crypto/certificate_request.hpp"
#include "crypto/openssl_types.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/x509.h>

#include <set>

namespace crab::crypto {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class CertificateAuthorityTest : public testing::Test {
protected:
    FakeClock clock;
    SystemTime now = clock.system_now();
    CertificateAuthority ca = CertificateAuthority::create("crab-pairing-ca-home", now);
    PrivateKey key = PrivateKey::generate_p256();
    LeafSubject subject{"memory",
                        {.uris = {"crab://peer/tool_host/memory"},
                         .dns_names = {"memory.example"},
                         .ip_addresses = {"192.0.2.7"}}};

    /// What `openssl x509 -text` prints: a reader of certificates that is not ours.
    static std::string described(const Certificate& certificate) {
        const auto* at = reinterpret_cast<const unsigned char*>(certificate.der().data());
        const Owned<X509> x509(d2i_X509(nullptr, &at, static_cast<long>(certificate.der().size())));
        const Owned<BIO> bio(BIO_new(BIO_s_mem()));
        X509_print_ex(bio.get(), x509.get(), XN_FLAG_RFC2253, 0);
        char* text = nullptr;
        const long size = BIO_get_mem_data(bio.get(), &text);
        return {text, static_cast<std::size_t>(size)};
    }
};

TEST_F(CertificateAuthorityTest, TheAuthorityHasItsProfile) {
    const Certificate& certificate = ca.certificate();
    EXPECT_EQ(certificate.common_name(), "crab-pairing-ca-home");
    EXPECT_TRUE(certificate.is_ca());
    EXPECT_TRUE(certificate.is_self_issued());
    EXPECT_EQ(SystemTime(certificate.not_before()), now - 1h);
    EXPECT_EQ(SystemTime(certificate.not_after()), now + 24h * 3650);
    EXPECT_EQ(certificate.public_key().kind, KeyKind::kP256);
    const std::string text = described(certificate);
    EXPECT_THAT(text, HasSubstr("ecdsa-with-SHA256"));
    EXPECT_THAT(text, HasSubstr("Basic Constraints: critical\n                CA:TRUE, pathlen:0"));
    EXPECT_THAT(text, HasSubstr("Key Usage: critical\n                Digital Signature, "
                                "Certificate Sign, CRL Sign\n"));
    EXPECT_THAT(text, HasSubstr("Subject Key Identifier"));
}

TEST_F(CertificateAuthorityTest, ALeafHasItsProfileAndNothingMore) {
    const auto leaf = ca.issue(subject, key.public_key(), now);
    ASSERT_TRUE(leaf) << leaf.error().message;
    EXPECT_EQ(leaf->common_name(), "memory");
    EXPECT_EQ(leaf->alt_names(), subject.names);
    EXPECT_EQ(leaf->public_key(), key.public_key());
    EXPECT_EQ(SystemTime(leaf->not_before()), now - 5min);
    EXPECT_EQ(SystemTime(leaf->not_after()), now + 24h * 365);
    EXPECT_FALSE(leaf->is_ca());
    const std::string text = described(*leaf);
    EXPECT_THAT(text, HasSubstr("Signature Algorithm: ecdsa-with-SHA256"));
    EXPECT_THAT(text, HasSubstr("Subject: CN=memory\n"));
    EXPECT_THAT(text, HasSubstr("CA:FALSE"));
    EXPECT_THAT(text, HasSubstr("Key Usage: critical\n                Digital Signature\n"));
    EXPECT_THAT(text, HasSubstr("TLS Web Client Authentication, TLS Web Server Authentication\n"));
    EXPECT_THAT(text, HasSubstr("Authority Key Identifier"));
    EXPECT_THAT(text, HasSubstr("Subject Key Identifier"));
    EXPECT_THAT(
        text,
        HasSubstr("URI:crab://peer/tool_host/memory, DNS:memory.example, IP Address:192.0.2.7\n"));
    EXPECT_THAT(text, Not(HasSubstr("Key Encipherment")));
    EXPECT_TRUE(check_chain(*leaf, ca.certificate(), now));
}

TEST_F(CertificateAuthorityTest, SerialsAreLongRandomAndPrintedWithoutLeadingZeros) {
    std::set<std::string> seen;
    for (int i = 0; i < 64; ++i) {
        const std::string serial = ca.issue(subject, key.public_key(), now)->serial_number();
        EXPECT_TRUE(seen.insert(serial).second);
        EXPECT_LE(serial.size(), 32u);
        EXPECT_GE(serial.size(), 20u);
        EXPECT_NE(serial.front(), '0');
        if (serial.size() == 32) EXPECT_LT(serial.front(), '8');
    }
}

TEST_F(CertificateAuthorityTest, ALeafDoesNotOutliveItsAuthority) {
    const SystemTime late = now + 24h * 3600;
    EXPECT_EQ(ca.issue(subject, key.public_key(), late)->not_after(), ca.certificate().not_after());
    EXPECT_FALSE(ca.issue(subject, key.public_key(), now + 24h * 3651));
    EXPECT_FALSE(ca.issue(subject, key.public_key(), now - 2h));
}

TEST_F(CertificateAuthorityTest, ChainsAreCheckedForSignerDateAndAuthority) {
    const auto leaf = *ca.issue(subject, key.public_key(), now);
    const auto other = CertificateAuthority::create("crab-pairing-ca-home", now);
    EXPECT_FALSE(check_chain(leaf, other.certificate(), now));
    EXPECT_FALSE(check_chain(leaf, leaf, now));
    EXPECT_FALSE(check_chain(leaf, ca.certificate(), now - 10min));
    EXPECT_FALSE(check_chain(leaf, ca.certificate(), now + 24h * 366));
    const auto self_signed = make_self_signed(key, subject, now, 24h);
    EXPECT_FALSE(check_chain(self_signed, ca.certificate(), now));
}

TEST_F(CertificateAuthorityTest, KeyAndCertificateReadBackTogetherOnly) {
    const auto again = CertificateAuthority::load(ca.key_pem(), ca.certificate().to_pem());
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(check_chain(*again->issue(subject, key.public_key(), now), ca.certificate(), now));
    const auto other = CertificateAuthority::create("crab-pairing-ca-home", now);
    EXPECT_FALSE(CertificateAuthority::load(other.key_pem(), ca.certificate().to_pem()));
    EXPECT_FALSE(CertificateAuthority::load(key.to_pem(),
                                            make_self_signed(key, subject, now, 24h).to_pem()));
    EXPECT_FALSE(
        CertificateAuthority::load(Secret<std::string>("no key"), ca.certificate().to_pem()));
}

TEST_F(CertificateAuthorityTest, ABootstrapCertificateIsValidAtOnceAndNamesItsHolder) {
    const auto certificate = make_self_signed(key, subject, now, 24h * 365);
    EXPECT_TRUE(certificate.is_valid_at(now));
    EXPECT_FALSE(certificate.is_valid_at(now + 24h * 366));
    EXPECT_EQ(certificate.alt_names(), subject.names);
    EXPECT_FALSE(certificate.is_ca());
}

TEST_F(CertificateAuthorityTest, FingerprintsAreComparedWithoutCase) {
    const std::string fingerprint = ca.certificate().fingerprint();
    std::string upper = fingerprint;
    for (char& c : upper) c = static_cast<char>(std::toupper(c));
    EXPECT_EQ(fingerprint.size(), 71u);
    EXPECT_TRUE(fingerprint.starts_with("sha256:"));
    EXPECT_TRUE(same_fingerprint(fingerprint, upper));
    EXPECT_FALSE(same_fingerprint(fingerprint, fingerprint.substr(1)));
    EXPECT_FALSE(same_fingerprint(fingerprint, ""));
}

TEST_F(CertificateAuthorityTest, NoFlippedBitOfACertificateChainsToItsAuthority) {
    const std::string der = ca.issue(subject, key.public_key(), now)->der();
    for (std::size_t bit = 0; bit < der.size() * 8; ++bit) {
        std::string flipped = der;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
        const auto certificate = Certificate::from_der(flipped);
        EXPECT_TRUE(!certificate || !check_chain(*certificate, ca.certificate(), now)) << bit;
    }
}

}  // namespace
}  // namespace crab::crypto
