#include "crypto/signature.hpp"

#include "crypto/openssl_types.hpp"

#include <memory>

#include <openssl/bn.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

namespace crab::crypto {
namespace {

constexpr std::size_t kHalf = 32;   // of a signature

struct FreeEcdsa {
    void operator()(ECDSA_SIG* signature) const { ECDSA_SIG_free(signature); }
};
using OwnedEcdsa = std::unique_ptr<ECDSA_SIG, FreeEcdsa>;

const std::uint8_t* bytes(std::string_view text) {
    return reinterpret_cast<const std::uint8_t*>(text.data());
}

Owned<EVP_PKEY> parse(std::string_view der) {
    const unsigned char* at = bytes(der);
    Owned<EVP_PKEY> key(d2i_PUBKEY(nullptr, &at, static_cast<long>(der.size())));
    if (!key || at != bytes(der) + der.size()) {
        forget_openssl_errors();
        return nullptr;
    }
    return key;
}

/// r and s as OpenSSL wants them; empty when they are none.
std::string to_der(std::string_view pair) {
    OwnedEcdsa signature(ECDSA_SIG_new());
    Owned<BIGNUM> r(BN_bin2bn(bytes(pair), kHalf, nullptr)),
        s(BN_bin2bn(bytes(pair) + kHalf, kHalf, nullptr));
    if (!signature || !r || !s || ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1) return {};
    r.release(), s.release();
    unsigned char* der = nullptr;
    const int size = i2d_ECDSA_SIG(signature.get(), &der);
    if (size <= 0) return {};
    std::string result(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
    OPENSSL_free(der);
    return result;
}

std::string from_der(std::string_view der) {
    const unsigned char* at = bytes(der);
    const OwnedEcdsa signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
    std::string pair(2 * kHalf, '\0');
    auto* const out = reinterpret_cast<unsigned char*>(pair.data());
    require_openssl(
        signature && BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), out, kHalf) == kHalf &&
            BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), out + kHalf, kHalf) == kHalf,
        "an ECDSA signature failed");
    return pair;
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
    const auto key = parse(der);
    if (!key) return refused();
    PublicKey read = public_key_of(key.get());
    if ((read.kind != KeyKind::kEd25519 && read.kind != KeyKind::kP256) || read.der != der)
        return refused();
    return read;
}

bool verify(const PublicKey& key, std::string_view message, std::string_view signature) {
    if (signature.size() != 2 * kHalf ||
        (key.kind != KeyKind::kEd25519 && key.kind != KeyKind::kP256))
        return false;
    const auto public_key = parse(key.der);
    const std::string form =
        key.kind == KeyKind::kP256 ? to_der(signature) : std::string(signature);
    const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
    const bool good = public_key && context && !form.empty() &&
                      EVP_DigestVerifyInit(context.get(), nullptr, digest_of(key.kind), nullptr,
                                           public_key.get()) == 1 &&
                      EVP_DigestVerify(context.get(), bytes(form), form.size(), bytes(message),
                                       message.size()) == 1;
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
                           bytes(message), message.size()) == 1,
        "a signature failed");
    signature.resize(size);
    return kind == KeyKind::kP256 ? from_der(signature) : signature;
}

}  // namespace crab::crypto
