#pragma once

#include "base/result.hpp"
#include "crypto/alt_names.hpp"
#include "crypto/private_key.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace crab::crypto {

/// A certificate signing request (PKCS #10, RFC 2986): a proof of possession of a private key, with
/// requested names.
struct CertificateRequest {
    static constexpr std::size_t kMostPem = 16 << 10;

    PublicKey public_key;
    std::string common_name;  ///< as requested; issuers may ignore it
    AltNames alt_names;  ///< likewise

    /// One PEM block of at most 16 KiB with a valid self-signature and a key that is P-256, P-384,
    /// Ed25519 or RSA of 2048 to 4096 bits. Errors: kInvalidArgs, naming the rule.
    static Result<CertificateRequest> parse(std::string_view pem);
};

/// A request in PEM form, signed with `key` and SHA-256 (Ed25519 keys: without a separate digest).
std::string make_certificate_request(const PrivateKey& key, std::string_view common_name,
                                     const AltNames& names);

}  // namespace crab::crypto
