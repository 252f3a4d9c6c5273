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

/// Which paired peer a client certificate is of. Remembers good ones while the peer's record is the
/// same; one for each event loop. Source: docs/protocols/rtp.md, section 1;
/// docs/protocols/sw4rm.md, section 2.
class PeerCertificates {
public:
    /// Must outlive this.
    struct Services {
        trust::Peers& peers;
        const crypto::Certificate& ca;  ///< of pairing
        const Clock& clock;
        BlockingPool& pool;
        /// Hears of certificates that name a peer and are not its, and why.
        std::function<void(const trust::PeerName& peer, std::string_view problem)> on_mismatch;
    };
    explicit PeerCertificates(Services services) : services_(std::move(services)) {}

    /// Errors: kUnauthenticated (none, unreadable, of another CA, out of date), kForbidden (not
    /// paired, revoked, not the peer's).
    Result<core::PrincipalRef> find(const std::string& certificate_der);
    /// Whether find() would find somebody; tells nobody and remembers nothing.
    bool proves(const std::string& certificate_der) const;

private:
    /// A certificate that was found good; it stays so while the peer's record is this one and the
    /// date is not reached.
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
