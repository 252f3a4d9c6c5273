#pragma once

#include "base/result.hpp"
#include "crypto/private_key.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::trust {

/// A page as its browser tells an authenticator of it.
struct WebauthnSite {
    std::string origin;  ///< `https://home.example:42617`, as the browser writes it
    std::string rp_id;   ///< `home.example`: passkeys are of a host name, whatever the port
};
/// The site of that origin; nothing for an address in numbers, which has no passkeys, and for what
/// is no origin. Source: Web Authentication, "relying party identifier".
std::optional<WebauthnSite> webauthn_site_of(std::string_view origin);

/// What an authenticator says of itself, without what follows in CBOR.
struct AuthenticatorData {
    bool user_present = false;
    bool user_verified = false;  ///< by PIN, finger or face
    std::uint32_t sign_count = 0;
    std::string credential_id;  ///< of a new credential; else empty
};
/// Reads the fixed layout and checks that it is of `rp_id`. Errors: kUnauthenticated. Source: Web
/// Authentication, section 6.1.
Result<AuthenticatorData> read_authenticator_data(std::string_view bytes, std::string_view rp_id);

enum class Ceremony : std::uint8_t { kRegister, kAssert };
/// The challenge that a page of `site` has put to an authenticator, from the JSON that the browser
/// made. Errors: kUnauthenticated: another ceremony, origin, or a frame in a foreign page.
Result<std::string> read_client_data(std::string_view json, Ceremony ceremony,
                                     const WebauthnSite& site);

/// What an authenticator answers to a challenge. All of it as bytes.
struct Assertion {
    std::string credential_id, client_data, authenticator_data, signature;
    std::string user_handle{};  ///< whose it is; may be empty where the page has said who
};
/// What a right one says. The caller has to see to the challenge, the user and the counter.
struct VerifiedAssertion {
    std::string challenge;
    std::uint32_t sign_count = 0;
};
/// Checks it by the key of its credential: signature, site, and that a user was present and
/// verified. Errors: kUnauthenticated.
Result<VerifiedAssertion> verify_assertion(const Assertion& assertion, const crypto::PublicKey& key,
                                           const WebauthnSite& site);

/// A new credential, as the page hands it on. All of it as bytes; the key is that of
/// `getPublicKey()`, a SubjectPublicKeyInfo.
struct Registration {
    std::string credential_id, client_data, authenticator_data, public_key;
};
struct VerifiedRegistration {
    std::string challenge;
    std::uint32_t sign_count = 0;
    crypto::PublicKey key;  ///< P-256 or Ed25519
};
/// Checks one, without attestation: whoever is signed in says which key is to be theirs, and no
/// maker of authenticators has to vouch for it. Errors: kUnauthenticated; kInvalidArgs for a key of
/// another kind or another id.
Result<VerifiedRegistration> verify_registration(const Registration& registration,
                                                 const WebauthnSite& site);

}  // namespace crab::trust
