#include "crypto/signature.hpp"

#include "base/encoding.hpp"
#include "crypto/ecdsa_form.hpp"
#include "crypto/openssl_types.hpp"

#include <openssl/evp.h>
#include <openssl/x509.h>

namespace crab::crypto {
namespace {

constexpr std::size_t kHalf = 32;   // of a signature
constexpr std::size_t kMostDerSignature = 72;

Owned<EVP_PKEY> read_public_key(std::string_view der) {
    const unsigned char* at = bytes_of(der).data();
    Owned<EVP_PKEY> key(d2i_PUBKEY(nullptr, &at, static_cast<long>(der.size())));
    if (!key || at != bytes_of(der).data() + der.size()) {
        forget_openssl_errors();
        return nullptr;
    }
    return key;
}

const EVP_MD* digest_of(KeyKind kind) { return kind == KeyKind::kP256 ? EVP_sha256() : nullptr; }

}  // namespace

Result<PublicKey> read_signing_key(std::string_view der) {
    constexpr std::size_t kMostDer = 256;
    const auto refused = [] {
        return fail(ErrorCode::kInvalidArgs,
                    "the public key must be the SubjectPublicKeyInfo of an Ed25519 or P-256 key");
    };
    if (der.size() > kMostDer) return refused();
    const auto key = read_public_key(der);
    if (!key) return refused();
    PublicKey read = public_key_of(key.get());
    if ((read.kind != KeyKind::kEd25519 && read.kind != KeyKind::kP256) || read.der != der)
        return refused();
    return read;
}

bool verify(const PublicKey& key, std::string_view message, std::string_view signature) {
    if (signature.size() != 2 * kHalf) return false;
    return verify_der(
        key, message,
        key.kind == KeyKind::kP256 ? ecdsa_to_der(signature, kHalf) : std::string(signature));
}

bool verify_der(const PublicKey& key, std::string_view message, std::string_view signature) {
    if (signature.empty() || signature.size() > kMostDerSignature ||
        (key.kind != KeyKind::kEd25519 && key.kind != KeyKind::kP256))
        return false;
    const auto public_key = read_public_key(key.der);
    const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
    const bool good = public_key && context &&
                      EVP_DigestVerifyInit(context.get(), nullptr, digest_of(key.kind), nullptr,
                                           public_key.get()) == 1 &&
                      EVP_DigestVerify(context.get(), bytes_of(signature).data(), signature.size(),
                                       bytes_of(message).data(), message.size()) == 1;
    if (!good) forget_openssl_errors();
    return good;
}

std::string sign(const PrivateKey& key, std::string_view message) {
    const KeyKind kind = key.public_key().kind;
    const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
    std::string signature(128, '\0');
    std::size_t size = signature.size();
    require_openssl(
        context &&
            EVP_DigestSignInit(context.get(), nullptr, digest_of(kind), nullptr, key.handle()) ==
                1 &&
            EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                           bytes_of(message).data(), message.size()) == 1,
        "a signature failed");
    signature.resize(size);
    return kind == KeyKind::kP256 ? ecdsa_from_der(signature, kHalf) : signature;
}

}  // namespace crab::crypto
