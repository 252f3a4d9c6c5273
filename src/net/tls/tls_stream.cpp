#include "net/tls/tls_stream.hpp"

#include "net/tls/tls_context.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>

namespace crab::net {
namespace {

int clipped(std::size_t size) { return static_cast<int>(std::min<std::size_t>(size, INT_MAX)); }

}  // namespace

TlsStream::TlsStream(TlsContext& context, int fd, const std::string& server_name)
    : ssl_(context.new_stream(fd, server_name)) {
    if (ssl_ == nullptr) throw std::bad_alloc();
    BIO_set_callback_ex(SSL_get_rbio(ssl_), watch_reads);
    BIO_set_callback_arg(SSL_get_rbio(ssl_), reinterpret_cast<char*>(this));
}

// parameters: BIO_callback_fn_ex has them
long TlsStream::watch_reads(bio_st* socket, int operation, const char*, std::size_t asked, int,
                            long, int result, std::size_t* got) {
    if (operation == (BIO_CB_READ | BIO_CB_RETURN)) {
        reinterpret_cast<TlsStream*>(BIO_get_callback_arg(socket))->short_read_ =
            result > 0 && got != nullptr && *got < asked;
    }
    return result;
}

bool TlsStream::emptied() const { return short_read_ && SSL_has_pending(ssl_) == 0; }

TlsStream::~TlsStream() { SSL_free(ssl_); }

Transfer TlsStream::handshake() {
    ERR_clear_error();
    return outcome_of(SSL_do_handshake(ssl_));
}

Transfer TlsStream::read(std::span<char> space) {
    ERR_clear_error();
    return outcome_of(SSL_read(ssl_, space.data(), clipped(space.size())));
}

Transfer TlsStream::write(std::string_view bytes) {
    ERR_clear_error();
    return outcome_of(SSL_write(ssl_, bytes.data(), clipped(bytes.size())));
}

void TlsStream::shut_down() {
    if (SSL_in_init(ssl_) != 0 || !failure_.empty()) return;
    ERR_clear_error();
    SSL_shutdown(ssl_);
}

/// An alert of the other side, or a version of TLS that is not spoken here; a plain port answers
/// with neither.
bool TlsStream::is_refusal(unsigned long error) {
    const int reason = ERR_GET_REASON(error);
    return ERR_GET_LIB(error) == ERR_LIB_SSL &&
           (reason >= SSL_AD_REASON_OFFSET || reason == SSL_R_UNSUPPORTED_PROTOCOL);
}

Transfer TlsStream::outcome_of(int result) {
    if (result > 0) return {Transfer::Outcome::kDone, static_cast<std::size_t>(result)};
    const int error_number = errno;
    switch (SSL_get_error(ssl_, result)) {
        case SSL_ERROR_WANT_READ: return {Transfer::Outcome::kWantsRead, 0};
        case SSL_ERROR_WANT_WRITE: return {Transfer::Outcome::kWantsWrite, 0};
        case SSL_ERROR_ZERO_RETURN: return {Transfer::Outcome::kEnd, 0};
        case SSL_ERROR_SYSCALL:
            failure_ = error_number != 0 ? std::strerror(error_number) : "the stream ended";
            break;
        default: {
            const long verdict = SSL_get_verify_result(ssl_);
            const unsigned long error = ERR_peek_error();
            const char* reason = ERR_reason_error_string(error);
            refused_ = verdict != X509_V_OK || is_refusal(error);
            failure_ = verdict != X509_V_OK ? X509_verify_cert_error_string(verdict)
                       : reason != nullptr  ? reason
                                            : "TLS error";
        }
    }
    ERR_clear_error();
    return {Transfer::Outcome::kBroken, 0};
}

std::string TlsStream::peer_certificate_der() const {
    X509* const certificate = SSL_get0_peer_certificate(ssl_);
    if (certificate == nullptr) return {};
    const int size = i2d_X509(certificate, nullptr);
    if (size <= 0) return {};
    std::string der(static_cast<std::size_t>(size), '\0');
    auto* at = reinterpret_cast<unsigned char*>(der.data());
    i2d_X509(certificate, &at);
    return der;
}

}  // namespace crab::net
