#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "crypto/certificate_authority.hpp"
#include "crypto/key_folder.hpp"
#include "crypto/random_source.hpp"
#include "trust/pairing/identity_file.hpp"

#include <string_view>

namespace crab::trust {

/// A certificate and its key, as TLS shows them.
struct KeyedCertificate {
    crypto::PrivateKey key;
    crypto::Certificate certificate;

    /// Less than 30 days remain, or it was made while the clock was ahead: time to make or ask for
    /// another.
    bool is_due(SystemTime now) const {
        return SystemTime(certificate.not_after()) - now < std::chrono::days(30) ||
               now < certificate.not_before();
    }
};

/// The gateway's keys: `gateway_identity.json`, `pairing_ca_key.pem`, `pairing_ca_cert.pem`.
/// Source: docs/protocols/rtp.md, section 6, "Files".
struct GatewayKeys {
    GatewayIdentity identity;
    crypto::CertificateAuthority authority;

    /// Reads the files, or makes those of a new gateway called `gateway_id`; an existing identity
    /// keeps its own id. Errors: those of KeyFolder; kInvalidArgs for a file that cannot be used
    /// and for a bad `gateway_id`; kConflict when half of the authority is there, or an authority
    /// without the identity: restore what is missing.
    static Result<GatewayKeys> load_or_make(const crypto::KeyFolder& folder,
                                            std::string_view gateway_id, SystemTime now,
                                            crypto::RandomSource& random);

    /// The files of the folder as one text, for the nodes of a fleet, which are one gateway to
    /// their peers. Errors: those of KeyFolder; kNotFound when one is missing.
    static Result<Secret<std::string>> pack(const crypto::KeyFolder& folder);
    /// Writes the files of such a text; those that were others stay as `<name>.before_fleet`.
    /// Returns whether there were any. Errors: those of KeyFolder; kInvalidArgs for another text.
    static Result<bool> unpack(const crypto::KeyFolder& folder, const Secret<std::string>& packed);

    /// A new certificate for the gateway itself, for both directions: the profile of section 5.7
    /// with SAN `crab://gateway/<id>` and `names`. Errors: kUnavailable when the authority is not
    /// valid at `now`.
    Result<KeyedCertificate> issue_own(crypto::AltNames names, SystemTime now) const;
};

/// A remote's keys: `remote_identity.json`, and what it shows before any pairing:
/// `bootstrap_key.pem`, `bootstrap_cert.pem`.
struct RemoteKeys {
    RemoteIdentity identity;
    KeyedCertificate bootstrap;

    /// Reads the files, or makes those of a new remote. Errors: as for GatewayKeys, kConflict for
    /// half of the bootstrap certificate.
    static Result<RemoteKeys> load_or_make(const crypto::KeyFolder& folder,
                                           std::string_view component_id, SystemTime now,
                                           crypto::RandomSource& random);
};

}  // namespace crab::trust
