#include "crypto/p256.hpp"

#include "crypto/openssl_types.hpp"

#include <openssl/evp.h>
#include <openssl/x509.h>

namespace crab::crypto {
namespace {

/// What stands before the point in a SubjectPublicKeyInfo (RFC 5480).
constexpr std::string_view kBeforePoint(
    "\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"
    "\x03\x42\x00",
    26);

}  // namespace

std::string p256_point_of(const PrivateKey& key) {
    return key.public_key().der.substr(kBeforePoint.size());
}

std::optional<P256SharedSecret> p256_agree(const PrivateKey& key, std::string_view point) {
    if (point.size() != kP256PointBytes || point.front() != '\x04') return std::nullopt;
    const std::string der = std::string(kBeforePoint) + std::string(point);
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    // This checks that the point is one of the curve.
    const Owned<EVP_PKEY> peer(d2i_PUBKEY(nullptr, &at, static_cast<long>(der.size())));
    if (!peer) {
        forget_openssl_errors();
        return std::nullopt;
    }
    const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new(key.handle(), nullptr));
    require_openssl(context != nullptr && EVP_PKEY_derive_init(context.get()) == 1,
                    "a P-256 agreement failed");
    std::array<std::uint8_t, 32> secret{};
    std::size_t size = secret.size();
    if (EVP_PKEY_derive_set_peer(context.get(), peer.get()) != 1 ||
        EVP_PKEY_derive(context.get(), secret.data(), &size) != 1 || size != secret.size()) {
        forget_openssl_errors();
        return std::nullopt;
    }
    return P256SharedSecret(secret);
}

}  // namespace crab::crypto
