#include "crypto/ed25519.hpp"

#include "crypto/openssl_types.hpp"

#include <openssl/evp.h>

namespace crab::crypto {
namespace {

Owned<EVP_PKEY> private_key(const Secret<Ed25519Key::Seed>& seed) {
    Owned<EVP_PKEY> key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr,
                                                     seed.reveal().data(), seed.reveal().size()));
    require_openssl(key != nullptr, "Ed25519 key failed");
    return key;
}

}  // namespace

Ed25519Key::Ed25519Key(Secret<Seed> seed) : seed_(std::move(seed)) {
    std::size_t size = public_key_.size();
    require_openssl(
        EVP_PKEY_get_raw_public_key(private_key(seed_).get(), public_key_.data(), &size) == 1,
        "Ed25519 key failed");
}

Ed25519Signature Ed25519Key::sign(std::span<const std::uint8_t> message) const {
    const auto key = private_key(seed_);
    const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
    Ed25519Signature signature;
    std::size_t size = signature.size();
    require_openssl(
        context != nullptr &&
            EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
            EVP_DigestSign(context.get(), signature.data(), &size, message.data(),
                           message.size()) == 1,
        "Ed25519 signature failed");
    return signature;
}

bool ed25519_verify(const Ed25519PublicKey& key, std::span<const std::uint8_t> message,
                    const Ed25519Signature& signature) {
    const Owned<EVP_PKEY> public_key(
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(), key.size()));
    const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
    const bool good =
        public_key != nullptr && context != nullptr &&
        EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, public_key.get()) == 1 &&
        EVP_DigestVerify(context.get(), signature.data(), signature.size(), message.data(),
                         message.size()) == 1;
    if (!good) forget_openssl_errors();
    return good;
}

}  // namespace crab::crypto
