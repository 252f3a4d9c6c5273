#include "crypto/openssl_types.hpp"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <stdexcept>

namespace crab::crypto {

void FreeOpenssl::operator()(evp_pkey_st* object) const { EVP_PKEY_free(object); }
void FreeOpenssl::operator()(evp_pkey_ctx_st* object) const { EVP_PKEY_CTX_free(object); }
void FreeOpenssl::operator()(evp_md_ctx_st* object) const { EVP_MD_CTX_free(object); }
void FreeOpenssl::operator()(evp_cipher_ctx_st* object) const { EVP_CIPHER_CTX_free(object); }
void FreeOpenssl::operator()(x509_st* object) const { X509_free(object); }
void FreeOpenssl::operator()(X509_req_st* object) const { X509_REQ_free(object); }
void FreeOpenssl::operator()(bio_st* object) const { BIO_free_all(object); }
void FreeOpenssl::operator()(bignum_st* object) const { BN_free(object); }

void require_openssl(bool ok, const char* what) {
    if (ok) return;
    forget_openssl_errors();
    throw std::runtime_error(what);
}

void forget_openssl_errors() { ERR_clear_error(); }

}  // namespace crab::crypto
