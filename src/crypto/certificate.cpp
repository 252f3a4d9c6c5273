#include "crypto/certificate.hpp"

#include "base/encoding.hpp"
#include "crypto/openssl_types.hpp"
#include "crypto/pem.hpp"
#include "crypto/x509_fields.hpp"

#include <openssl/bn.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>

#include <fmt/format.h>

namespace crab::crypto {
namespace {

constexpr std::string_view kCertificateLabel = "CERTIFICATE";
constexpr std::size_t kMostDer = 64 << 10;

std::string hex_of(const ASN1_INTEGER* serial) {
    const Owned<BIGNUM> number(ASN1_INTEGER_to_BN(serial, nullptr));
    if (!number || BN_is_negative(number.get()) != 0) return {};
    std::string bytes(static_cast<std::size_t>(BN_num_bytes(number.get())), '\0');
    BN_bn2bin(number.get(), reinterpret_cast<unsigned char*>(bytes.data()));
    const std::string hex = to_hex(bytes_of(bytes));
    return hex.substr(std::min(hex.find_first_not_of('0'), hex.size()));
}

Owned<X509> read_x509(std::string_view der) {
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    const auto* const end = at + der.size();
    Owned<X509> certificate(
        der.size() > kMostDer ? nullptr : d2i_X509(nullptr, &at, static_cast<long>(der.size())));
    if (!certificate || at != end) {
        forget_openssl_errors();
        return nullptr;
    }
    return certificate;
}

}  // namespace

Result<Certificate> Certificate::from_pem(std::string_view pem) {
    const auto der = decode_pem(pem, kCertificateLabel);
    if (!der) return fail(der.error());
    return from_der(*der);
}

Result<Certificate> Certificate::from_der(std::string_view der) {
    const auto malformed = [](std::string_view what) {
        forget_openssl_errors();
        return fail(ErrorCode::kInvalidArgs, fmt::format("the certificate {}", what));
    };
    const auto parsed = read_x509(der);
    if (!parsed) return malformed("is not one in DER form");
    Certificate certificate;
    EVP_PKEY* const key = X509_get0_pubkey(parsed.get());
    if (key == nullptr) return malformed("has a key that cannot be used");
    const auto begin = time_of(X509_get0_notBefore(parsed.get()));
    const auto end = time_of(X509_get0_notAfter(parsed.get()));
    if (!begin || !end) return malformed("has a malformed date");
    certificate.serial_number_ = hex_of(X509_get0_serialNumber(parsed.get()));
    if (certificate.serial_number_.empty()) return malformed("has no positive serial number");
    certificate.der_ = der;
    certificate.fingerprint_ = "sha256:" + sha256_hex(der);
    certificate.common_name_ = common_name_of(X509_get_subject_name(parsed.get()));
    certificate.not_before_ = *begin;
    certificate.not_after_ = *end;
    certificate.alt_names_ = alt_names_of(X509_get0_extensions(parsed.get()));
    certificate.public_key_ = public_key_of(key);
    const auto flags = X509_get_extension_flags(parsed.get());
    if ((flags & EXFLAG_INVALID) != 0) return malformed("has an extension that cannot be read");
    certificate.is_ca_ = (flags & EXFLAG_BCONS) != 0 && (flags & EXFLAG_CA) != 0;
    certificate.is_self_issued_ = (flags & EXFLAG_SI) != 0;
    forget_openssl_errors();
    return certificate;
}

std::string Certificate::to_pem() const { return encode_pem(kCertificateLabel, der_); }

Result<void> check_chain(const Certificate& leaf, std::span<const Certificate> between,
                         const Certificate& ca, SystemTime at) {
    const auto leaf_x509 = read_x509(leaf.der());
    const auto ca_x509 = read_x509(ca.der());
    const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(),
                                                                        &X509_STORE_free);
    const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> context(
        X509_STORE_CTX_new(), &X509_STORE_CTX_free);
    const auto free_all = [](STACK_OF(X509) * all) { sk_X509_pop_free(all, X509_free); };
    const std::unique_ptr<STACK_OF(X509), decltype(free_all)> others(sk_X509_new_null(), free_all);
    require_openssl(
        leaf_x509 && ca_x509 && store && context && others &&
            X509_STORE_add_cert(store.get(), ca_x509.get()) == 1 &&
            X509_STORE_CTX_init(context.get(), store.get(), leaf_x509.get(), others.get()) == 1,
        "checking a certificate failed");
    for (const Certificate& one : between) {
        auto x509 = read_x509(one.der());
        require_openssl(x509 && sk_X509_push(others.get(), x509.get()) > 0,
                        "checking a certificate failed");
        (void)x509.release();  // the list owns it now
    }
    X509_VERIFY_PARAM* const rules = X509_STORE_CTX_get0_param(context.get());
    X509_VERIFY_PARAM_set_time(rules, SystemTime::clock::to_time_t(at));
    X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_CHECK_SS_SIGNATURE);
    X509_VERIFY_PARAM_set_auth_level(rules, 2);  // 112 bits: RSA from 2048, no SHA-1
    X509_VERIFY_PARAM_set_depth(rules, 4);
    if (!ca.is_ca())
        return fail(ErrorCode::kInvalidArgs, "the chain does not end at a certificate authority");
    if (X509_verify_cert(context.get()) != 1) {
        const char* const reason =
            X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
        forget_openssl_errors();
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("the certificate does not chain to its authority: {}", reason));
    }
    return {};
}

bool same_fingerprint(std::string_view left, std::string_view right) {
    const auto lower = [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    return std::ranges::equal(left, right, {}, lower, lower);
}

}  // namespace crab::crypto
