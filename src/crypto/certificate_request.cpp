#include "crypto/certificate_request.hpp"

#include "crypto/openssl_types.hpp"
#include "crypto/pem.hpp"
#include "crypto/x509_fields.hpp"

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

#include <fmt/format.h>

namespace crab::crypto {
namespace {

constexpr std::string_view kRequestLabel = "CERTIFICATE REQUEST";
constexpr int kLeastSubjectRsaBits = 2048;
constexpr int kMostSubjectRsaBits = 4096;

using Extensions =
    std::unique_ptr<stack_st_X509_EXTENSION, decltype([](stack_st_X509_EXTENSION* all) {
                        sk_X509_EXTENSION_pop_free(all, X509_EXTENSION_free);
                    })>;

bool is_good_key(const PublicKey& key) {
    switch (key.kind) {
        case KeyKind::kP256:
        case KeyKind::kP384:
        case KeyKind::kEd25519: return true;
        case KeyKind::kRsa:
            return key.bits >= kLeastSubjectRsaBits && key.bits <= kMostSubjectRsaBits;
        case KeyKind::kOther: return false;
    }
    return false;
}

}  // namespace

Result<CertificateRequest> CertificateRequest::parse(std::string_view pem) {
    const auto refuse = [](std::string_view why) {
        forget_openssl_errors();
        return fail(ErrorCode::kInvalidArgs, fmt::format("the certificate request {}", why));
    };
    if (pem.size() > kMostPem) return refuse("has more than 16 KiB");
    const auto der = decode_pem(pem, kRequestLabel);
    if (!der) return fail(der.error());
    const auto* at = reinterpret_cast<const unsigned char*>(der->data());
    const auto* const end = at + der->size();
    const Owned<X509_REQ> parsed(d2i_X509_REQ(nullptr, &at, static_cast<long>(der->size())));
    if (!parsed || at != end) return refuse("is not one in DER form");
    EVP_PKEY* const key = X509_REQ_get0_pubkey(parsed.get());
    if (key == nullptr) return refuse("has a key that cannot be used");
    CertificateRequest request;
    request.public_key = public_key_of(key);
    if (!is_good_key(request.public_key))
        return refuse("needs a key of P-256, P-384, Ed25519 or RSA with 2048 to 4096 bits");
    const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new(key, nullptr));
    require_openssl(context != nullptr, "checking a key failed");
    if (EVP_PKEY_public_check(context.get()) != 1)
        return refuse("has a key that is not a valid one of its kind");
    if (X509_REQ_verify(parsed.get(), key) != 1) return refuse("is not signed with its own key");
    request.common_name = common_name_of(X509_REQ_get_subject_name(parsed.get()));
    request.alt_names = alt_names_of(Extensions(X509_REQ_get_extensions(parsed.get())).get());
    forget_openssl_errors();
    return request;
}

std::string make_certificate_request(const PrivateKey& key, std::string_view common_name,
                                     const AltNames& names) {
    const Owned<X509_REQ> request(X509_REQ_new());
    require_openssl(request != nullptr, "making a certificate request failed");
    set_common_name(X509_REQ_get_subject_name(request.get()), common_name);
    stack_st_X509_EXTENSION* list = nullptr;
    add_alt_names(&list, names);
    const Extensions extensions(list);
    const EVP_MD* const digest =
        key.public_key().kind == KeyKind::kEd25519 ? nullptr : EVP_sha256();
    require_openssl(X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) == 1 &&
                        X509_REQ_set_pubkey(request.get(), key.handle()) == 1 &&
                        X509_REQ_add_extensions(request.get(), list) == 1 &&
                        X509_REQ_sign(request.get(), key.handle(), digest) > 0,
                    "making a certificate request failed");
    unsigned char* der = nullptr;
    const int size = i2d_X509_REQ(request.get(), &der);
    require_openssl(size > 0, "making a certificate request failed");
    std::string pem =
        encode_pem(kRequestLabel, {reinterpret_cast<char*>(der), static_cast<std::size_t>(size)});
    OPENSSL_free(der);
    return pem;
}

}  // namespace crab::crypto
