#include "crypto/jws.hpp"

#include "base/encoding.hpp"
#include "crypto/ecdsa_form.hpp"
#include "crypto/openssl_types.hpp"
#include "crypto/signature.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

namespace crab::crypto {
namespace {

using enum JwsAlgorithm;

constexpr int kLeastRsaBits = 2048;
constexpr int kMostRsaBits = 8192;  // a verification costs time by the square of this
constexpr std::size_t kMostExponent = 8;  // bytes; long exponents cost time and nobody uses them

constexpr std::array<std::pair<std::string_view, JwsAlgorithm>, 10> kNames{{{"RS256", kRs256},
                                                                            {"RS384", kRs384},
                                                                            {"RS512", kRs512},
                                                                            {"PS256", kPs256},
                                                                            {"PS384", kPs384},
                                                                            {"PS512", kPs512},
                                                                            {"ES256", kEs256},
                                                                            {"ES384", kEs384},
                                                                            {"ES512", kEs512},
                                                                            {"EdDSA", kEdDsa}}};

struct Curve {
    std::string_view name;
    JwsKey::Kind kind;
    std::size_t bytes;  ///< of a coordinate
};
constexpr std::array<Curve, 3> kCurves{{{"P-256", JwsKey::Kind::kP256, 32},
                                        {"P-384", JwsKey::Kind::kP384, 48},
                                        {"P-521", JwsKey::Kind::kP521, 66}}};

struct FreeBuilder {
    void operator()(OSSL_PARAM_BLD* builder) const { OSSL_PARAM_BLD_free(builder); }
    void operator()(OSSL_PARAM* params) const { OSSL_PARAM_free(params); }
};
using Builder = std::unique_ptr<OSSL_PARAM_BLD, FreeBuilder>;

std::unexpected<Error> refused(const char* why) {
    forget_openssl_errors();
    return fail(ErrorCode::kInvalidArgs, why);
}

Owned<BIGNUM> big_number(std::string_view big_endian) {
    Owned<BIGNUM> made(
        BN_bin2bn(bytes_of(big_endian).data(), static_cast<int>(big_endian.size()), nullptr));
    require_openssl(made != nullptr, "reading a number failed");
    return made;
}

/// Null when the parameters are no public key of that type.
std::shared_ptr<EVP_PKEY> make_key(const char* type, OSSL_PARAM_BLD* builder) {
    const std::unique_ptr<OSSL_PARAM, FreeBuilder> params(OSSL_PARAM_BLD_to_param(builder));
    const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
    require_openssl(params && context && EVP_PKEY_fromdata_init(context.get()) == 1,
                    "making a key failed");
    EVP_PKEY* key = nullptr;
    if (EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1)
        return nullptr;
    std::shared_ptr<EVP_PKEY> made(key, FreeOpenssl{});
    const Owned<EVP_PKEY_CTX> check(EVP_PKEY_CTX_new(key, nullptr));
    if (!check || EVP_PKEY_public_check(check.get()) != 1) return nullptr;
    return made;
}

const EVP_MD* digest_of(JwsAlgorithm algorithm) {
    switch (algorithm) {
        case kRs256:
        case kPs256:
        case kEs256: return EVP_sha256();
        case kRs384:
        case kPs384:
        case kEs384: return EVP_sha384();
        case kRs512:
        case kPs512:
        case kEs512: return EVP_sha512();
        case kEdDsa: break;
    }
    return nullptr;  // Ed25519 hashes by itself
}

bool is_pss(JwsAlgorithm algorithm) {
    return algorithm == kPs256 || algorithm == kPs384 || algorithm == kPs512;
}

std::size_t coordinate_size(JwsKey::Kind kind) {
    const auto* const curve = std::ranges::find(kCurves, kind, &Curve::kind);
    return curve == kCurves.end() ? 0 : curve->bytes;
}

bool verify_form(EVP_PKEY* key, JwsAlgorithm algorithm, std::string_view message,
                 std::string_view form) {
    const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
    EVP_PKEY_CTX* details = nullptr;  // of `context`
    if (!context ||
        EVP_DigestVerifyInit(context.get(), &details, digest_of(algorithm), nullptr, key) != 1)
        return false;
    // the salt is as long as the digest (RFC 7518, section 3.5)
    if (is_pss(algorithm) &&
        (EVP_PKEY_CTX_set_rsa_padding(details, RSA_PKCS1_PSS_PADDING) != 1 ||
         EVP_PKEY_CTX_set_rsa_pss_saltlen(details, RSA_PSS_SALTLEN_DIGEST) != 1))
        return false;
    return EVP_DigestVerify(context.get(), bytes_of(form).data(), form.size(),
                            bytes_of(message).data(), message.size()) == 1;
}

}  // namespace

std::string_view name_of(JwsAlgorithm algorithm) {
    return std::ranges::find(kNames, algorithm, [](const auto& each) { return each.second; })
        ->first;
}

std::optional<JwsAlgorithm> find_jws_algorithm(std::string_view name) {
    for (const auto& [known, algorithm] : kNames) {
        if (known == name) return algorithm;
    }
    return std::nullopt;
}

Result<JwsKey> JwsKey::rsa(std::string_view modulus, std::string_view exponent) {
    if (modulus.size() > kMostRsaBits / 8 + 1 || exponent.size() > kMostExponent)
        return refused("the RSA key is too long");
    const Owned<BIGNUM> n = big_number(modulus), e = big_number(exponent);
    const int bits = BN_num_bits(n.get());
    if (bits < kLeastRsaBits || bits > kMostRsaBits)
        return refused("an RSA key has 2048 to 8192 bits");
    if (!BN_is_odd(n.get()) || !BN_is_odd(e.get()) || BN_is_one(e.get()))
        return refused("these numbers are no RSA key");
    const Builder builder(OSSL_PARAM_BLD_new());
    require_openssl(builder &&
                        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) &&
                        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()),
                    "making a key failed");
    auto key = make_key("RSA", builder.get());
    if (!key) return refused("these numbers are no RSA key");
    return JwsKey(Kind::kRsa, std::move(key));
}

Result<JwsKey> JwsKey::ec(std::string_view curve, std::string_view x, std::string_view y) {
    const auto* const known = std::ranges::find(kCurves, curve, &Curve::name);
    if (known == kCurves.end()) return refused("a curve is P-256, P-384 or P-521");
    if (x.size() != known->bytes || y.size() != known->bytes)
        return refused("a coordinate has not the length of its curve");
    const std::string name(curve);
    std::string point = "\x04";  // uncompressed
    point.append(x).append(y);
    const Builder builder(OSSL_PARAM_BLD_new());
    require_openssl(builder &&
                        OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME,
                                                        name.c_str(), 0) &&
                        OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY,
                                                         point.data(), point.size()),
                    "making a key failed");
    auto key = make_key("EC", builder.get());
    if (!key) return refused("these coordinates are no point of the curve");
    return JwsKey(known->kind, std::move(key));
}

Result<JwsKey> JwsKey::ed25519(std::string_view key) {
    constexpr std::size_t kBytes = 32;
    if (key.size() != kBytes) return refused("an Ed25519 key has 32 bytes");
    std::shared_ptr<EVP_PKEY> made(
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(key).data(), key.size()),
        FreeOpenssl{});
    if (!made) return refused("these bytes are no Ed25519 key");
    return JwsKey(Kind::kEd25519, std::move(made));
}

bool JwsKey::fits(JwsAlgorithm algorithm) const {
    switch (algorithm) {
        case kRs256:
        case kRs384:
        case kRs512:
        case kPs256:
        case kPs384:
        case kPs512: return kind_ == Kind::kRsa;
        case kEs256: return kind_ == Kind::kP256;
        case kEs384: return kind_ == Kind::kP384;
        case kEs512: return kind_ == Kind::kP521;
        case kEdDsa: return kind_ == Kind::kEd25519;
    }
    return false;
}

bool JwsKey::verify(JwsAlgorithm algorithm, std::string_view message,
                    std::string_view signature) const {
    if (!fits(algorithm)) return false;
    const std::size_t half = coordinate_size(kind_);
    const std::string form = half != 0 ? ecdsa_to_der(signature, half) : std::string(signature);
    const bool good = !form.empty() && verify_form(key_.get(), algorithm, message, form);
    if (!good) forget_openssl_errors();
    return good;
}

std::optional<JwsAlgorithm> jws_algorithm_of(const PrivateKey& key) {
    const PublicKey half = key.public_key();
    if (half.kind == KeyKind::kP256) return kEs256;
    if (half.kind == KeyKind::kRsa && half.bits >= kLeastRsaBits) return kRs256;
    return std::nullopt;
}

std::string jws_sign(const PrivateKey& key, std::string_view message) {
    if (key.public_key().kind == KeyKind::kP256) return sign(key, message);  // r and s already
    const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
    std::string signature(kMostRsaBits / 4, '\0');  // room for longer keys of our own too
    std::size_t size = signature.size();
    require_openssl(
        context && jws_algorithm_of(key) &&
            EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.handle()) == 1 &&
            EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                           bytes_of(message).data(), message.size()) == 1,
        "a signature failed");
    signature.resize(size);
    return signature;
}

}  // namespace crab::crypto
