#pragma once

#include "adapters/sw4rm/front.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/hosts/grpc_providers.hpp"
#include "gateway/stored/credentials.hpp"
#include "gateway/stored/peer_certificates.hpp"
#include "gateway/stored/peer_records.hpp"
#include "net/http2/http2_server.hpp"
#include "net/loop/listener.hpp"
#include "runtime/call_path.hpp"
#include "runtime/event_loops.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace crab::gateway {

/// The gRPC listener: on every event loop an HTTP/2 server with sw4rm's services.
class GrpcListener final : public Component {
public:
    GrpcListener(const GatewayContext& context, EventLoops& loops, CallPath& calls,
                 Credentials& credentials, PeerRecords& peers, GrpcProviders& providers);
    ~GrpcListener() override;

    std::string_view name() const override { return "gRPC listener"; }
    std::span<const ConfigKey> keys() const override;
    /// Binds and listens, on TCP, on a Unix socket or both, if configured. Errors: those of
    /// TlsContext::make() and Listener::bind().
    Result<void> start() override;
    /// Reports NOT_SERVING and refuses new calls; connections stay open.
    void drain() override;
    Milliseconds stop_limit() const override;
    /// Gives calls time to end, then cancels and answers them as shut down, and closes connections.
    /// Source: docs/protocols/sw4rm.md, section 2.
    void stop(Deadline deadline) override;

    /// `127.0.0.1:50063`, with the port that the system chose; `unix:/path` when there is no other;
    /// empty when it is off.
    std::string endpoint() const {
        return listeners_.empty() ? std::string() : listeners_.front()->endpoint().text();
    }

    /// When the certificate in use ends; nothing without one.
    std::optional<SystemTime> certificate_ends() const { return certificate_ends_; }

private:
    struct LoopServer;
    core::CancelAnswer cancel(const core::Principal& asker, std::string_view id);
    void add_server(CallPath::LoopPart& part, const net::Http2ServerOptions& options);
    Result<void> listen(const net::Endpoint& endpoint,
                        std::span<const std::unique_ptr<LoopServer>> servers);

    const GatewayContext& context_;
    EventLoops& loops_;
    CallPath& calls_;
    Credentials& credentials_;
    PeerRecords& peers_;
    GrpcProviders& providers_;
    std::vector<std::unique_ptr<net::Listener>> listeners_;
    std::vector<std::unique_ptr<LoopServer>> servers_;
    std::optional<SystemTime> certificate_ends_;  ///< as of the start
    Deadline drained_ = kNoDeadline;  ///< when the time for calls has passed
};

}  // namespace crab::gateway
