#include "crypto/private_key.hpp"

#include "crypto/openssl_types.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>

namespace crab::crypto {
namespace {

constexpr std::size_t kMostPem = 64 << 10;

/// Without this OpenSSL would ask the terminal for the passphrase of an encrypted key.
int no_passphrase(char*, int, int, void*) { return -1; }

/// What stands before the point or key in a SubjectPublicKeyInfo of this kind: the algorithm with
/// its named curve, and an uncompressed point. Curves spelled out as numbers and compressed points,
/// other texts for the same key, do not match.
template <std::size_t N>
bool has_form(std::string_view der, const std::array<std::uint8_t, N>& prefix, std::size_t size) {
    return der.size() == size && std::ranges::equal(bytes_of(der.substr(0, N)), prefix);
}
constexpr std::array<std::uint8_t, 27> kP256Prefix{
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
    0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04};
constexpr std::array<std::uint8_t, 24> kP384Prefix{0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86,
                                                   0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05, 0x2b,
                                                   0x81, 0x04, 0x00, 0x22, 0x03, 0x62, 0x00, 0x04};
constexpr std::array<std::uint8_t, 12> kEd25519Prefix{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                                      0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

std::shared_ptr<EVP_PKEY> shared(EVP_PKEY* key) {
    require_openssl(key != nullptr, "key generation failed");
    return {key, FreeOpenssl{}};
}

}  // namespace

PrivateKey PrivateKey::generate_p256() {
    return PrivateKey(shared(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")));
}
PrivateKey PrivateKey::generate_ed25519() {
    return PrivateKey(shared(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")));
}

Result<PrivateKey> PrivateKey::from_pem(const Secret<std::string>& pem) {
    const std::string& text = pem.reveal();
    if (text.size() > kMostPem)
        return fail(ErrorCode::kInvalidArgs, "the private key is too long to be one");
    const Owned<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    require_openssl(bio != nullptr, "reading a key failed");
    Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
    if (!key) {
        forget_openssl_errors();
        return fail(ErrorCode::kInvalidArgs,
                    "the text is not an unencrypted private key in PEM form");
    }
    return PrivateKey(std::shared_ptr<EVP_PKEY>(key.release(), FreeOpenssl{}));
}

Secret<std::string> PrivateKey::to_pem() const {
    const Owned<BIO> bio(BIO_new(BIO_s_secmem()));
    require_openssl(
        bio != nullptr && PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0,
                                                        nullptr, nullptr) == 1,
        "writing a key failed");
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return Secret(std::string(text, static_cast<std::size_t>(size)));
}

PublicKey PrivateKey::public_key() const { return public_key_of(key_.get()); }

PublicKey public_key_of(evp_pkey_st* key) {
    unsigned char* der = nullptr;
    const int size = i2d_PUBKEY(key, &der);
    require_openssl(size > 0, "writing a public key failed");
    PublicKey result;
    result.der.assign(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
    OPENSSL_free(der);
    result.bits = EVP_PKEY_get_bits(key);
    if (has_form(result.der, kP256Prefix, 91)) {
        result.kind = KeyKind::kP256;
    } else if (has_form(result.der, kP384Prefix, 120)) {
        result.kind = KeyKind::kP384;
    } else if (has_form(result.der, kEd25519Prefix, 44)) {
        result.kind = KeyKind::kEd25519;
    } else if (EVP_PKEY_is_a(key, "RSA") == 1) {
        result.kind = KeyKind::kRsa;
    }
    return result;
}

}  // namespace crab::crypto
