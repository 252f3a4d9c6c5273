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

/// Deleter for OpenSSL objects.
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

/// An owned OpenSSL object, usable without OpenSSL's headers.
template <class T>
using Owned = std::unique_ptr<T, FreeOpenssl>;

/// Throws when OpenSSL fails for a reason that only a broken library or lack of memory can explain.
void require_openssl(bool ok, const char* what);
/// Clears OpenSSL's error queue of this thread after a refused input.
void forget_openssl_errors();

}  // namespace crab::crypto
