#pragma once

#include "adapters/rtp/pairing/gateway_tls.hpp"
#include "base/task/blocking_pool.hpp"
#include "net/http/http_client.hpp"
#include "net/http/name_lookups.hpp"
#include "trust/pairing/endpoint.hpp"
#include "trust/peers.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace crab::rtp {

/// Finds and authenticates one paired host, for every new connection, on any event loop. A host
/// that is not active is not contacted; no request is written before the host's certificate is
/// verified. Source: docs/protocols/rtp.md, section 4.
class PeerRoute : public std::enable_shared_from_this<PeerRoute> {
public:
    /// Must outlive the route.
    struct Services {
        trust::Peers& peers;
        GatewayTls& tls;
        const crypto::Certificate& ca;  ///< of pairing
        BlockingPool& pool;
        net::NameLookups& names;
        /// Notified of connections that failed verification, and why; on any loop.
        std::function<void(const trust::PeerName& peer, std::string_view problem)> on_mismatch;
    };
    /// An `https://` URL taken apart.
    struct Base {
        trust::PairingEndpoint server;
        std::string path;  ///< before each route; empty, or `/` and more without a `/` at the end
    };
    /// The peer's `tool_url`, else `https://` and the authority of its pairing endpoint. Errors:
    /// kInvalidArgs.
    static Result<Base> base_of(const trust::PeerRecord& peer);

    PeerRoute(Services services, trust::PeerName name, Base base)
        : services_(std::move(services)), name_(std::move(name)), base_(std::move(base)) {}

    /// For an HttpClient; keeps this alive.
    net::HttpAuthority authority();

private:
    Task<Result<net::DialTarget>> find_server(Deadline deadline);
    Task<Result<void>> judge(std::string certificate_der);

    const Services services_;
    const trust::PeerName name_;
    const Base base_;
};

}  // namespace crab::rtp
