#pragma once

#include <memory>

struct evp_pkey_st;
struct evp_pkey_ctx_st;
struct evp_md_ctx_st;
struct evp_cipher_ctx_st;
struct x509_st;
struct X509_req_st;
struct bio_st;
struct bignum_st;

namespace crab::crypto {

/// Gives OpenSSL's objects back to it.
struct FreeOpenssl {
    void operator()(evp_pkey_st* object) const;
    void operator()(evp_pkey_ctx_st* object) const;
    void operator()(evp_md_ctx_st* object) const;
    void operator()(evp_cipher_ctx_st* object) const;
    void operator()(x509_st* object) const;
    void operator()(X509_req_st* object) const;
    void operator()(bio_st* object) const;
    void operator()(bignum_st* object) const;
};

/// An OpenSSL object with one owner; headers name it without OpenSSL's own.
template <class T>
using Owned = std::unique_ptr<T, FreeOpenssl>;

/// Throws when OpenSSL fails where only a broken library or a lack of memory can be the reason.
void require_openssl(bool ok, const char* what);
/// Forgets the errors of a refused input, which OpenSSL would otherwise show to whoever asks next
/// on this thread.
void forget_openssl_errors();

}  // namespace crab::crypto
