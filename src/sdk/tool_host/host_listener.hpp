#pragma once

#include "net/http/http_server.hpp"
#include "net/loop/listener.hpp"
#include "runtime/event_loops.hpp"
#include "runtime/workers.hpp"
#include "sdk/tool_host/host_engine.hpp"
#include "sdk/tool_host/host_service.hpp"

#include <memory>
#include <string>
#include <vector>

namespace crab::sdk {

/// The one listener of a tool host: a Unix socket for the host's own user, or TLS for the gateway
/// that pairs with it. On the first event loop.
class HostListener final : public runtime::Component {
public:
    struct Uses {
        const Clock& clock;
        const HostEngine::Options& options;
        runtime::EventLoops& loops;
        runtime::Workers& workers;
    };
    explicit HostListener(const Uses& uses) : uses_(uses) {}

    std::string_view name() const override { return "host listener"; }
    /// Errors: those of Listener::bind() and RemoteTrust::open().
    Result<void> start() override;
    std::vector<runtime::ListenerRoutes> tables() override;
    void drain() override;
    Milliseconds stop_limit() const override { return kDrain + std::chrono::seconds(5); }
    /// Calls that run have time to end; pairings end.
    void stop(Deadline deadline) override;

    /// Where it listens, with the port that the system chose; until it is destroyed.
    const net::Endpoint& endpoint() const { return endpoint_; }
    /// Empty on a Unix socket.
    std::string remote_key() const { return trust_ ? trust_->key_text() : std::string(); }

private:
    static constexpr Milliseconds kDrain{10'000};

    Result<void> admit_callers();
    Result<void> admit_gateway(const HostEngine::Paired& paired);

    const Uses uses_;
    net::Endpoint endpoint_;
    std::unique_ptr<net::Listener> listener_;
    std::unique_ptr<RemoteTrust> trust_;           ///< null on a Unix socket
    std::unique_ptr<rtp::PairingRemote> pairing_;  ///< likewise
    std::unique_ptr<HostCallers> callers_;
    std::unique_ptr<HostService> service_;
    std::unique_ptr<net::HttpServer> server_;
};

}  // namespace crab::sdk
