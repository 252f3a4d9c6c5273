#pragma once

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/task/blocking_pool.hpp"
#include "core/call/principal.hpp"
#include "crypto/certificate.hpp"
#include "trust/peers.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace crab::gateway {

/// Maps client certificates to paired peers. Caches valid ones while the peer's record is
/// unchanged; one per event loop. Source: docs/protocols/rtp.md, section 1;
/// docs/protocols/sw4rm.md, section 2.
class PeerCertificates {
public:
    /// Must outlive this.
    struct Services {
        trust::Peers& peers;
        const crypto::Certificate& ca;  ///< of pairing
        const Clock& clock;
        BlockingPool& pool;
        /// Notified of certificates that name a peer but are not valid for it, and why.
        std::function<void(const trust::PeerName& peer, std::string_view problem)> on_mismatch;
    };
    explicit PeerCertificates(Services services) : services_(std::move(services)) {}

    /// Errors: kUnauthenticated (missing, malformed, of another CA, expired), kForbidden (not
    /// paired, revoked, not the peer's).
    Result<core::PrincipalRef> find(const std::string& certificate_der);
    /// Whether find() would succeed; without notification or caching.
    bool proves(const std::string& certificate_der) const;

private:
    /// A valid certificate, cached until the peer's record changes or the certificate expires.
    struct Known {
        trust::PeerRef record;
        core::PrincipalRef principal;
        SystemTime not_after;
    };
    Result<Known> judge(const std::string& certificate_der, SystemTime now);

    Services services_;
    // by certificate, DER
    std::unordered_map<std::string, Known, TextHash, std::equal_to<>> known_;
};

}  // namespace crab::gateway
