#pragma once

#include "crypto/private_key.hpp"

#include <cstddef>
#include <memory>
#include <string>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

/// For tests: keys that crab never creates but may receive.
namespace crab::crypto::test {

inline PrivateKey key_of(EVP_PKEY* made) {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(made, EVP_PKEY_free);
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
    PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return PrivateKey::from_pem(Secret<std::string>(std::string(text, size))).value();
}
inline PrivateKey p384_key() { return key_of(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-384")); }
inline PrivateKey rsa_key(std::size_t bits) {
    return key_of(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", bits));
}

}  // namespace crab::crypto::test
