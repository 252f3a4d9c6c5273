#pragma once

#include "base/result.hpp"

#include <memory>
#include <mutex>
#include <string>

struct ssl_ctx_st;
struct ssl_st;

namespace crab::net {

/// Certificates and rules for TLS connections of one listener or dialer. Thread-safe; connections
/// keep the state they began with.
class TlsContext {
public:
    enum class Role : std::uint8_t { kServer, kClient };
    enum class Versions : std::uint8_t { k12AndNewer, k13Only };
    /// How the other side's certificate is verified in the handshake.
    enum class PeerCheck : std::uint8_t {
        kNone,            ///< server: none is requested
        /// Requested and not verified: the connection's user verifies it before sending anything
        kAcceptAny,
        kChain,  ///< must be there, in time and chain to `ca`; names are not compared
        kChainIfPresent,  ///< server: a client without one is let in, one with a bad one is not
        kChainAndName,  ///< client: the chain, and the host name that is dialled
    };
    /// PEM text, or the file to read it from at load and reload.
    struct Pem {
        std::string text;
        std::string file;
    };
    struct Options {
        Role role = Role::kServer;
        Versions versions = Versions::k12AndNewer;
        PeerCheck peer_check = PeerCheck::kNone;
        Pem certificate;  ///< leaf first, then its chain; empty for a client that shows none
        Pem key;
        Pem ca;  ///< trust anchors; empty on a client means the system's
        bool session_tickets = false;
        /// The one application protocol, a literal; a server refuses clients that offer others only
        const char* alpn = nullptr;
    };

    /// Errors: kInvalidArgs, naming which of certificate, key and ca cannot be used.
    static Result<std::shared_ptr<TlsContext>> make(Options options);

    /// Reads the files again; new connections use what they hold. On failure everything stays as it
    /// was.
    Result<void> reload();
    /// Presents another certificate on new connections. Errors as for make(); then everything stays
    /// as it was.
    Result<void> show(Pem certificate, Pem key);
    Role role() const { return options_.role; }
    PeerCheck peer_check() const { return options_.peer_check; }
    /// A new SSL object for `fd`; `server_name` is sent and compared by clients. The caller frees
    /// it.
    ssl_st* new_stream(int fd, const std::string& server_name);

    ~TlsContext();

private:
    explicit TlsContext(Options options) : options_(std::move(options)) {}
    Options options_;  // certificate and key: under mutex_
    std::mutex mutex_;
    std::shared_ptr<ssl_ctx_st> context_;
};

}  // namespace crab::net
