#pragma once

#include "base/base64url.hpp"
#include "crypto/digest.hpp"
#include "crypto/ecdsa_form.hpp"
#include "crypto/signature.hpp"
#include "trust/webauthn.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace crab::trust::test {

/// The DER form of P-256 signatures, which authenticators give; those of Ed25519 are as they are.
inline std::string webauthn_signature(const crypto::PrivateKey& key, std::string_view message) {
    const std::string pair = crypto::sign(key, message);
    return key.public_key().kind == crypto::KeyKind::kP256 ? crypto::ecdsa_to_der(pair, 32) : pair;
}

/// An authenticator with one passkey, and the browser before it. Tests bend what it says.
struct Authenticator {
    crypto::PrivateKey key = crypto::PrivateKey::generate_p256();
    std::string credential_id = "passkey-1";
    std::string origin = "https://home.example";
    std::string rp_id = "home.example";
    std::uint8_t flags = 0x05;  ///< present and verified
    std::uint32_t count = 0;
    std::string user_handle;
    std::string more;  ///< members of the client data, with a comma before each

    std::string client_data(std::string_view type, std::string_view challenge) const {
        return fmt::format(R"({{"type":"{}","challenge":"{}","origin":"{}"{}}})", type,
                           to_base64url(challenge), origin, more);
    }
    std::string data(std::uint8_t more_flags = 0) const {
        const crypto::Sha256Digest site = crypto::sha256(rp_id);
        std::string bytes(reinterpret_cast<const char*>(site.data()), site.size());
        bytes.push_back(static_cast<char>(flags | more_flags));
        for (int shift = 24; shift >= 0; shift -= 8)
            bytes.push_back(static_cast<char>(count >> shift));
        return bytes;
    }
    Registration create(std::string_view challenge) const {
        std::string said = data(0x40) + std::string(16, '\0');
        said.push_back(static_cast<char>(credential_id.size() >> 8));
        said.push_back(static_cast<char>(credential_id.size()));
        said += credential_id + "\xa5 the key, in CBOR";
        return {.credential_id = credential_id,
                .client_data = client_data("webauthn.create", challenge),
                .authenticator_data = std::move(said),
                .public_key = key.public_key().der};
    }
    Assertion assert_it(std::string_view challenge) const {
        Assertion said{.credential_id = credential_id,
                       .client_data = client_data("webauthn.get", challenge),
                       .authenticator_data = data(),
                       .signature = {},
                       .user_handle = user_handle};
        const crypto::Sha256Digest digest = crypto::sha256(said.client_data);
        said.signature = webauthn_signature(
            key, said.authenticator_data +
                     std::string(reinterpret_cast<const char*>(digest.data()), digest.size()));
        return said;
    }
};

}  // namespace crab::trust::test
