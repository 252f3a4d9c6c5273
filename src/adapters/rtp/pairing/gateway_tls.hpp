#pragma once

#include "base/ordered_mutex.hpp"
#include "net/tls/tls_context.hpp"
#include "trust/pairing/pairing_keys.hpp"

#include <memory>
#include <optional>

namespace crab::rtp {

/// The gateway's own certificate as TLS shows it, in both directions: TLS 1.3, no session tickets.
/// The handshake accepts any certificate; the user of the connection verifies it before the first
/// byte of a request. Thread-safe. Source: docs/protocols/rtp.md, sections 4 and 6.
class GatewayTls {
public:
    /// Must outlive this.
    GatewayTls(const trust::GatewayKeys& keys, const Clock& clock) : keys_(keys), clock_(clock) {}

    /// For dialling. The certificate is made when it is first needed and again when less than 30
    /// days remain; contexts that were returned before use the new one from then on. Errors:
    /// kUnavailable when the authority is not valid now.
    Result<std::shared_ptr<net::TlsContext>> client() {
        return context(net::TlsContext::Role::kClient, client_);
    }
    /// For the peer listener; the same certificate, the same errors.
    Result<std::shared_ptr<net::TlsContext>> server() {
        return context(net::TlsContext::Role::kServer, server_);
    }

private:
    Result<std::shared_ptr<net::TlsContext>> context(net::TlsContext::Role role,
                                                     std::shared_ptr<net::TlsContext>& made);
    Result<void> refresh();

    const trust::GatewayKeys& keys_;
    const Clock& clock_;
    OrderedMutex<LockRank::kGatewayTls> mutex_;
    std::optional<trust::KeyedCertificate> own_;
    std::shared_ptr<net::TlsContext> client_, server_;
};

}  // namespace crab::rtp
