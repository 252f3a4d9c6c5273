#include "crypto/x25519.hpp"

#include "crypto/digest.hpp"
#include "crypto/openssl_types.hpp"

#include <openssl/evp.h>

namespace crab::crypto {
namespace {

Owned<EVP_PKEY> private_key(const Secret<X25519Key::Scalar>& scalar) {
    Owned<EVP_PKEY> key(EVP_PKEY_new_raw_private_key(
        EVP_PKEY_X25519, nullptr, scalar.reveal().data(), scalar.reveal().size()));
    require_openssl(key != nullptr, "X25519 key failed");
    return key;
}

}  // namespace

X25519Key::X25519Key(Secret<Scalar> scalar) : scalar_(std::move(scalar)) {
    std::size_t size = public_key_.size();
    require_openssl(
        EVP_PKEY_get_raw_public_key(private_key(scalar_).get(), public_key_.data(), &size) == 1,
        "X25519 key failed");
}

std::optional<X25519SharedSecret> X25519Key::agree(const X25519PublicKey& peer) const {
    const auto own = private_key(scalar_);
    const Owned<EVP_PKEY> other(
        EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, peer.data(), peer.size()));
    const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new(own.get(), nullptr));
    require_openssl(
        other != nullptr && context != nullptr && EVP_PKEY_derive_init(context.get()) == 1,
        "X25519 agreement failed");
    std::array<std::uint8_t, 32> shared{};
    std::size_t size = shared.size();
    const bool derived = EVP_PKEY_derive_set_peer(context.get(), other.get()) == 1 &&
                         EVP_PKEY_derive(context.get(), shared.data(), &size) == 1 &&
                         size == shared.size();
    // OpenSSL refuses an all-zero result by itself; the rule is ours, so it is checked here too.
    if (!derived || constant_time_equal(shared, std::array<std::uint8_t, 32>{})) {
        forget_openssl_errors();
        return std::nullopt;
    }
    return X25519SharedSecret(shared);
}

}  // namespace crab::crypto
