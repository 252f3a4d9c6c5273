#include "net/tls/tls_context.hpp"

#include "base/process/file.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>

namespace crab::net {
namespace {

template <auto F>
struct Free {
    template <class T>
    void operator()(T* object) const {
        F(object);
    }
};
using Bio = std::unique_ptr<BIO, Free<BIO_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;

Result<std::string> load(const TlsContext::Pem& pem, std::string_view what) {
    if (pem.file.empty()) return pem.text;
    auto text = read_file(pem.file);
    if (!text)
        return fail(ErrorCode::kInvalidArgs, "cannot read the TLS " + std::string(what) +
                                                 " file; check its path and permissions");
    return text;
}

Bio reader(const std::string& text) {
    return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

bool use_chain(SSL_CTX* context, const std::string& pem) {
    const Bio in = reader(pem);
    const Certificate leaf(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
    if (!leaf || SSL_CTX_use_certificate(context, leaf.get()) != 1) return false;
    while (X509* const next = PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr)) {
        if (SSL_CTX_add0_chain_cert(context, next) != 1) return X509_free(next), false;
    }
    ERR_clear_error();  // the end of the text is an error to OpenSSL
    return true;
}

bool use_key(SSL_CTX* context, const std::string& pem) {
    const Bio in = reader(pem);
    const Key key(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
    return key && SSL_CTX_use_PrivateKey(context, key.get()) == 1 &&
           SSL_CTX_check_private_key(context) == 1;
}

bool use_anchors(SSL_CTX* context, const std::string& pem, bool announce) {
    const Bio in = reader(pem);
    X509_STORE* const store = SSL_CTX_get_cert_store(context);
    bool any = false;
    while (X509* const next = PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr)) {
        const Certificate owner(next);
        any = X509_STORE_add_cert(store, next) == 1;
        if (!any) break;
        if (announce) SSL_CTX_add_client_CA(context, next);
    }
    ERR_clear_error();
    return any;
}

int accept_any(int, X509_STORE_CTX* chain) {
    X509_STORE_CTX_set_error(chain, X509_V_OK);
    return 1;
}

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned offered_size, void* ours) {
    const std::string_view protocol(static_cast<const char*>(ours));
    for (unsigned at = 0; at < offered_size; at += 1U + offered[at]) {
        const unsigned length = offered[at];
        if (at + 1 + length > offered_size) break;
        if (std::string_view(reinterpret_cast<const char*>(offered) + at + 1, length) != protocol)
            continue;
        *chosen = offered + at + 1;
        *size = offered[at];
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

void speak(SSL_CTX* context, const char* protocol, bool server) {
    if (server)
        return SSL_CTX_set_alpn_select_cb(context, choose_protocol, const_cast<char*>(protocol));
    const std::string_view name(protocol);
    const std::string wire = static_cast<char>(name.size()) + std::string(name);
    SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(wire.data()),
                            static_cast<unsigned>(wire.size()));
}

int verify_mode(const TlsContext::Options& options) {
    const bool server = options.role == TlsContext::Role::kServer;
    switch (options.peer_check) {
        case TlsContext::PeerCheck::kNone: return server ? SSL_VERIFY_NONE : SSL_VERIFY_PEER;
        case TlsContext::PeerCheck::kAcceptAny:
        case TlsContext::PeerCheck::kChainIfPresent: return SSL_VERIFY_PEER;
        case TlsContext::PeerCheck::kChain:
        case TlsContext::PeerCheck::kChainAndName:
            return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    }
    return SSL_VERIFY_PEER;
}

Result<std::shared_ptr<SSL_CTX>> build(const TlsContext::Options& options) {
    const bool server = options.role == TlsContext::Role::kServer;
    const std::shared_ptr<SSL_CTX> context(
        SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()), SSL_CTX_free);
    if (!context) return fail(ErrorCode::kInternal, "OpenSSL gave no context");
    SSL_CTX_set_min_proto_version(context.get(), options.versions == TlsContext::Versions::k13Only
                                                     ? TLS1_3_VERSION
                                                     : TLS1_2_VERSION);
    SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(context.get(), SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION |
                                           SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_read_ahead(context.get(), 1);
    if (!options.session_tickets) {
        SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(context.get(), 0);
        SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    }
    if (options.alpn != nullptr) speak(context.get(), options.alpn, server);
    auto certificate = load(options.certificate, "certificate");
    auto key = load(options.key, "key");
    auto anchors = load(options.ca, "CA");
    for (auto* part : {&certificate, &key, &anchors}) {
        if (!*part) return fail(std::move(part->error()));
    }
    if (certificate->empty() && server)
        return fail(ErrorCode::kInvalidArgs, "a TLS server needs a certificate and a key");
    if (!certificate->empty()) {
        if (!use_chain(context.get(), *certificate))
            return fail(ErrorCode::kInvalidArgs,
                        "the TLS certificate is not a PEM certificate chain");
        if (!use_key(context.get(), *key))
            return fail(ErrorCode::kInvalidArgs,
                        "the TLS key is not a PEM key or does not fit the certificate");
    }
    if (!anchors->empty()) {
        if (!use_anchors(context.get(), *anchors, server))
            return fail(ErrorCode::kInvalidArgs, "the TLS CA file holds no PEM certificate");
    } else if (!server) {
        SSL_CTX_set_default_verify_paths(context.get());
    }
    const bool judges = options.peer_check != TlsContext::PeerCheck::kAcceptAny &&
                        (server || options.peer_check != TlsContext::PeerCheck::kNone);
    SSL_CTX_set_verify(context.get(), verify_mode(options), judges ? nullptr : &accept_any);
    return context;
}

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::make(Options options) {
    auto context = build(options);
    if (!context) return fail(std::move(context.error()));
    std::shared_ptr<TlsContext> made(new TlsContext(std::move(options)));
    made->context_ = std::move(*context);
    return made;
}

TlsContext::~TlsContext() = default;

Result<void> TlsContext::reload() {
    const std::lock_guard lock(mutex_);
    auto context = build(options_);
    if (!context) return fail(std::move(context.error()));
    context_ = std::move(*context);
    return {};
}

Result<void> TlsContext::show(Pem certificate, Pem key) {
    const std::lock_guard lock(mutex_);
    Options options = options_;
    options.certificate = std::move(certificate);
    options.key = std::move(key);
    auto context = build(options);
    if (!context) return fail(std::move(context.error()));
    options_ = std::move(options);
    context_ = std::move(*context);
    return {};
}

ssl_st* TlsContext::new_stream(int fd, const std::string& server_name) {
    std::shared_ptr<SSL_CTX> context;
    {
        const std::lock_guard lock(mutex_);
        context = context_;
    }
    SSL* const ssl = SSL_new(context.get());
    if (ssl == nullptr) return nullptr;
    SSL_set_fd(ssl, fd);
    if (options_.role == Role::kServer) {
        SSL_set_accept_state(ssl);
        return ssl;
    }
    SSL_set_connect_state(ssl);
    std::array<unsigned char, 16> ip{};
    const bool numeric = ::inet_pton(AF_INET, server_name.c_str(), ip.data()) == 1 ||
                         ::inet_pton(AF_INET6, server_name.c_str(), ip.data()) == 1;
    if (!numeric && !server_name.empty()) SSL_set_tlsext_host_name(ssl, server_name.c_str());
    if (options_.peer_check == PeerCheck::kChainAndName) {
        if (numeric) {
            X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), server_name.c_str());
        } else {
            SSL_set1_host(ssl, server_name.c_str());
        }
    }
    return ssl;
}

}  // namespace crab::net
