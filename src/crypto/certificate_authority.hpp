#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "crypto/certificate.hpp"
#include "crypto/private_key.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace crab::crypto {

/// The subject of a leaf certificate.
struct LeafSubject {
    std::string common_name;
    AltNames names;
};

/// A private certificate authority: one P-256 key with a self-signed certificate that is
/// distributed to those who trust it. Source: docs/protocols/rtp.md, section 5.7.
class CertificateAuthority {
public:
    /// A new key and certificate: valid from 1 h before `now` to 3650 days after; key usage
    /// digitalSignature, keyCertSign, cRLSign and CA:TRUE, pathlen 0 (both critical); SKI.
    static CertificateAuthority create(std::string_view common_name, SystemTime now);
    /// Errors: kInvalidArgs when a text is invalid, they do not match, or they are not a P-256
    /// authority.
    static Result<CertificateAuthority> load(const Secret<std::string>& key_pem,
                                             std::string_view certificate_pem);

    /// A leaf for the holder of `key`, valid from 5 min before `now` to 365 days after, but not
    /// beyond this authority's validity: key usage digitalSignature (critical); EKU clientAuth,
    /// serverAuth; CA:FALSE; AKI, SKI; a random 127-bit serial; ECDSA with SHA-256. Errors:
    /// kUnavailable when the authority's certificate is not valid at `now`.
    Result<Certificate> issue(const LeafSubject& subject, const PublicKey& key,
                              SystemTime now) const;

    const Certificate& certificate() const { return certificate_; }
    Secret<std::string> key_pem() const { return key_.to_pem(); }

private:
    CertificateAuthority(PrivateKey key, Certificate certificate)
        : key_(std::move(key)), certificate_(std::move(certificate)) {}
    PrivateKey key_;
    Certificate certificate_;
};

/// A self-signed certificate with the leaf profile of CertificateAuthority, which only proves
/// possession of the same key. Valid from 1 h before `now`, for `life`.
Certificate make_self_signed(const PrivateKey& key, const LeafSubject& subject, SystemTime now,
                             std::chrono::hours life);

}  // namespace crab::crypto
