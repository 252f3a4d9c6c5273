#include "crypto/certificate_authority.hpp"

#include "crypto/openssl_types.hpp"
#include "crypto/random.hpp"
#include "crypto/x509_fields.hpp"

#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <memory>

namespace crab::crypto {
namespace {

using std::chrono::sys_seconds;
constexpr auto kCaLife = std::chrono::days(3650);
constexpr auto kCaHeadStart = std::chrono::hours(1);
constexpr auto kLeafLife = std::chrono::days(365);
constexpr auto kLeafHeadStart = std::chrono::minutes(5);
constexpr auto kWhat = "making a certificate failed";

enum class Profile : std::uint8_t { kAuthority, kLeaf };

sys_seconds in_seconds(SystemTime time) { return std::chrono::floor<std::chrono::seconds>(time); }

/// 127 random bits, never zero: at most 16 bytes in DER, whose sign bit must stay clear (RFC 5280,
/// section 4.1.2.2).
void set_serial(X509* certificate) {
    std::array<std::uint8_t, 16> bytes;
    do {
        fill_random(bytes);
        bytes[0] &= 0x7f;
    } while (std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; }));
    const Owned<BIGNUM> number(BN_bin2bn(bytes.data(), bytes.size(), nullptr));
    require_openssl(
        number != nullptr &&
            BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr,
        kWhat);
}

void set_life(X509* certificate, sys_seconds from, sys_seconds until) {
    require_openssl(ASN1_TIME_set(X509_getm_notBefore(certificate),
                                  from.time_since_epoch().count()) != nullptr &&
                        ASN1_TIME_set(X509_getm_notAfter(certificate),
                                      until.time_since_epoch().count()) != nullptr,
                    kWhat);
}

void add_extension(X509* certificate, X509* issuer, int kind, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
        X509V3_EXT_conf_nid(nullptr, &context, kind, value), &X509_EXTENSION_free);
    require_openssl(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1,
                    kWhat);
}

void add_names(X509* certificate, const AltNames& names) {
    stack_st_X509_EXTENSION* list = nullptr;
    add_alt_names(&list, names);
    const auto free_all = [](stack_st_X509_EXTENSION* all) {
        sk_X509_EXTENSION_pop_free(all, X509_EXTENSION_free);
    };
    const std::unique_ptr<stack_st_X509_EXTENSION, decltype(free_all)> owner(list, free_all);
    for (int i = 0; i < sk_X509_EXTENSION_num(list); ++i) {
        require_openssl(X509_add_ext(certificate, sk_X509_EXTENSION_value(list, i), -1) == 1,
                        kWhat);
    }
}

Owned<X509> draft(std::string_view common_name, EVP_PKEY* key, sys_seconds from,
                  sys_seconds until) {
    Owned<X509> certificate(X509_new());
    require_openssl(certificate != nullptr &&
                        X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
                        X509_set_pubkey(certificate.get(), key) == 1,
                    kWhat);
    set_serial(certificate.get());
    set_life(certificate.get(), from, until);
    set_common_name(X509_get_subject_name(certificate.get()), common_name);
    return certificate;
}

void add_profile(X509* certificate, X509* issuer, Profile profile) {
    switch (profile) {
        case Profile::kAuthority:
            add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
            add_extension(certificate, issuer, NID_key_usage,
                          "critical,digitalSignature,keyCertSign,cRLSign");
            add_extension(certificate, issuer, NID_subject_key_identifier, "hash");
            return;
        case Profile::kLeaf:
            add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE");
            add_extension(certificate, issuer, NID_key_usage, "critical,digitalSignature");
            add_extension(certificate, issuer, NID_ext_key_usage, "clientAuth,serverAuth");
            add_extension(certificate, issuer, NID_subject_key_identifier, "hash");
            add_extension(certificate, issuer, NID_authority_key_identifier, "keyid");
            return;
    }
}

/// Signs with SHA-256, which is what every P-256 key here signs with.
Certificate signed_with(const PrivateKey& key, X509* certificate) {
    require_openssl(X509_sign(certificate, key.handle(), EVP_sha256()) > 0, kWhat);
    unsigned char* der = nullptr;
    const int size = i2d_X509(certificate, &der);
    require_openssl(size > 0, kWhat);
    auto result =
        Certificate::from_der({reinterpret_cast<char*>(der), static_cast<std::size_t>(size)});
    OPENSSL_free(der);
    require_openssl(result.has_value(), kWhat);
    return std::move(*result);
}

void set_issuer(X509* certificate, const X509* issuer) {
    require_openssl(X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1, kWhat);
}

}  // namespace

CertificateAuthority CertificateAuthority::create(std::string_view common_name, SystemTime now) {
    auto key = PrivateKey::generate_p256();
    const auto certificate =
        draft(common_name, key.handle(), in_seconds(now - kCaHeadStart), in_seconds(now + kCaLife));
    set_issuer(certificate.get(), certificate.get());
    add_profile(certificate.get(), certificate.get(), Profile::kAuthority);
    auto done = signed_with(key, certificate.get());
    return {std::move(key), std::move(done)};
}

Result<CertificateAuthority> CertificateAuthority::load(const Secret<std::string>& key_pem,
                                                        std::string_view certificate_pem) {
    auto key = PrivateKey::from_pem(key_pem);
    if (!key) return fail(key.error());
    auto certificate = Certificate::from_pem(certificate_pem);
    if (!certificate) return fail(certificate.error());
    if (certificate->public_key() != key->public_key())
        return fail(ErrorCode::kInvalidArgs,
                    "the authority's key and certificate do not belong together");
    if (certificate->public_key().kind != KeyKind::kP256 || !certificate->is_ca()) {
        return fail(ErrorCode::kInvalidArgs, "the certificate is not that of a P-256 authority");
    }
    return CertificateAuthority(std::move(*key), std::move(*certificate));
}

Result<Certificate> CertificateAuthority::issue(const LeafSubject& subject, const PublicKey& key,
                                                SystemTime now) const {
    if (!certificate_.is_valid_at(now))
        return fail(ErrorCode::kUnavailable,
                    "the pairing authority's certificate is not valid now; check the clock, or "
                    "make a new authority");
    const auto* at = reinterpret_cast<const unsigned char*>(certificate_.der().data());
    const Owned<X509> issuer(d2i_X509(nullptr, &at, static_cast<long>(certificate_.der().size())));
    at = reinterpret_cast<const unsigned char*>(key.der.data());
    const Owned<EVP_PKEY> holder(d2i_PUBKEY(nullptr, &at, static_cast<long>(key.der.size())));
    require_openssl(issuer != nullptr && holder != nullptr, kWhat);
    const auto from = std::max(in_seconds(now - kLeafHeadStart), certificate_.not_before());
    const auto until = std::min(in_seconds(now + kLeafLife), certificate_.not_after());
    const auto leaf = draft(subject.common_name, holder.get(), from, until);
    set_issuer(leaf.get(), issuer.get());
    add_names(leaf.get(), subject.names);
    add_profile(leaf.get(), issuer.get(), Profile::kLeaf);
    return signed_with(key_, leaf.get());
}

Certificate make_self_signed(const PrivateKey& key, const LeafSubject& subject, SystemTime now,
                             std::chrono::hours life) {
    const auto certificate = draft(subject.common_name, key.handle(),
                                   in_seconds(now - kCaHeadStart), in_seconds(now + life));
    set_issuer(certificate.get(), certificate.get());
    add_names(certificate.get(), subject.names);
    add_profile(certificate.get(), certificate.get(), Profile::kLeaf);
    return signed_with(key, certificate.get());
}

}  // namespace crab::crypto
