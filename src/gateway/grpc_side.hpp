#pragma once

#include "adapters/sw4rm/front.hpp"
#include "config/gateway_config.hpp"
#include "gateway/peer_certificates.hpp"
#include "net/http2/http2_server.hpp"
#include "net/loop/listener.hpp"
#include "trust/credential_cache.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace crab::gateway {

/// The gRPC listener: on every event loop an HTTP/2 server with sw4rm's services. Made, bound and
/// stopped by the gateway's own thread.
class GrpcSide {
public:
    /// One event loop, the pipeline and the credentials of it; all outlive this.
    struct Loop {
        net::EventLoop& loop;
        core::Pipeline& pipeline;
        trust::CredentialCache& credentials;
    };
    struct Services {
        PeerCertificates::Services certificates;
        ByteBudgets& budgets;   ///< by principal
        sw4rm::CallService::Cancel cancel;
        sw4rm::ConnectorService::Register register_provider;
    };

    /// Binds and listens, on TCP, on a Unix socket or both; before the loops run. Errors: those of
    /// TlsContext::make() and Listener::bind().
    static Result<std::unique_ptr<GrpcSide>> open(const config::GrpcOptions& options,
                                                  const std::vector<Loop>& loops,
                                                  const Services& services);
    ~GrpcSide();

    /// `127.0.0.1:50063`, with the port that the system chose; `unix:/path` when there is no other.
    std::string endpoint() const { return listeners_.front()->endpoint().text(); }
    /// Health says NOT_SERVING, and new calls are refused; connections stay.
    void drain();
    /// Cancels the calls that still run, which are answered as the end of a gateway demands.
    void cancel();
    /// Cancels what runs and closes every connection; waits until it is done, at most `limit`. The
    /// loops must run.
    void stop(Milliseconds limit);

private:
    struct Side;
    GrpcSide();
    Result<void> listen(const net::Endpoint& endpoint,
                        std::span<const std::unique_ptr<Side>> sides);

    std::vector<std::unique_ptr<net::Listener>> listeners_;
    std::vector<std::unique_ptr<Side>> sides_;
};

}  // namespace crab::gateway
