#pragma once

#include "base/published.hpp"
#include "base/task/blocking_pool.hpp"
#include "core/call/principal.hpp"
#include "net/loop/endpoint.hpp"
#include "net/tls/tls_context.hpp"
#include "trust/pairing/pairing_keys.hpp"
#include "trust/pairing/remote_pairing.hpp"
#include "trust/pairing/remote_store_file.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace crab::sdk {

/// The files of an operator-made CA for pairing, and a certificate with its key that it gave the
/// host. PEM.
struct OperatorFiles {
    std::filesystem::path ca, cert, key;
};

/// Identity, certificate and access control of a host behind mutual TLS. Before pairing it presents
/// a self-signed certificate and admits no callers; afterwards it presents the certificate issued
/// by its gateway and admits only that gateway. A pairing changes both immediately, also for open
/// connections. Used on one loop's thread, except where noted. Source: docs/protocols/rtp.md,
/// sections 3 (rows 1 and 2), 5.8 and 6.
class RemoteTrust {
public:
    struct Options {
        /// Made with mode 0700; keys, certificates and nonces lie there
        std::filesystem::path folder;
        std::string component_id;
        crypto::Ed25519PublicKey gateway_key;  ///< the one gateway that may pair
        net::Endpoint endpoint;  ///< where it listens: a name or address for its certificate
        /// Shown before any pairing; then pairing too takes a client certificate of that CA
        std::optional<OperatorFiles> operator_made = {};
    };
    /// Reads what is there, or makes the keys of a new host. Errors: those of KeyFolder, RemoteKeys
    /// and RemoteStoreFile; kInvalidArgs for files of an operator-made CA that cannot be used.
    static Result<std::unique_ptr<RemoteTrust>> open(const Options& options, const Clock& clock);
    ~RemoteTrust();

    /// TLS 1.3 that requests a certificate without verifying it; caller_of() does. Stays the same
    /// object.
    const std::shared_ptr<net::TlsContext>& tls() const { return tls_; }
    /// For connections to its gateway: TLS 1.3 that shows the same certificate; caller_of()
    /// verifies the gateway. Stays the same object.
    const std::shared_ptr<net::TlsContext>& client_tls() const { return client_tls_; }
    /// Its own Ed25519 key, base64: what `--remote-key` of `crab peers pair` is compared with.
    std::string key_text() const;
    /// Who it is as a handshake begins.
    trust::RemotePairing::Remote identity();

    /// Who calls on a connection that showed this certificate (DER; empty: none). Costs a look into
    /// a table for a certificate that was good before. Errors: kPairingRequired while there is no
    /// pairing; kUnauthenticated for no certificate and for one that is expired or of another
    /// authority; kForbidden for another name than that of the gateway that paired this host.
    Result<core::PrincipalRef> caller_of(const std::string& certificate_der);
    /// Whether a connection with this certificate may try to pair: any may (a signed, fresh
    /// pair.init is then required), but with an operator-made CA only with a certificate of that CA
    /// or of the gateway that paired this host. Errors: kUnauthenticated.
    Result<void> may_pair(const std::string& certificate_der);
    /// Whether a caller that caller_of() let in with this certificate proves a pairing whose
    /// `pair.complete` got lost.
    bool proves_lost_end(const std::string& certificate_der) const;
    /// Makes that pairing the paired one; blocks on the disk, from any thread. A failure is logged,
    /// and tried again by the next request.
    void complete_lost_end(const std::string& certificate_der);

private:
    class WatchedStore;
    struct TrustedCaller {
        core::PrincipalRef principal;
        SystemTime from, until;
        bool of_installed = false;  ///< good for the pairing whose end was not seen
    };
    RemoteTrust(const Options& options, const Clock& clock, trust::RemoteKeys keys,
                std::unique_ptr<trust::RemoteStoreFile> store,
                trust::RemoteCertificates certificates,
                std::optional<crypto::Certificate> operator_ca);
    Result<void> show(const trust::RemoteCertificates& certificates);
    Result<TrustedCaller> judge(const trust::RemoteCertificates& known,
                                std::string_view certificate_der, SystemTime now) const;

    const Options options_;
    const Clock& clock_;
    const trust::RemoteKeys keys_;  ///< with an operator-made CA its certificate is the bootstrap
    const std::optional<crypto::Certificate> operator_ca_;
    std::unique_ptr<trust::RemoteStoreFile> file_;
    std::unique_ptr<WatchedStore> store_;
    Published<trust::RemoteCertificates> certificates_;
    std::shared_ptr<net::TlsContext> tls_, client_tls_;
    /// By certificate, for one version of certificates_
    std::unordered_map<std::string, TrustedCaller> good_callers_;
    std::uint64_t good_for_ = 0;
};

}  // namespace crab::sdk
