#pragma once

#include "adapters/rtp/pairing_dialer.hpp"
#include "base/task_group.hpp"
#include "net/http_service.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crab::rtp {

/// The operator's routes for pairing and peers: `/v1/identity`, `/v1/pairings`, `/v1/pairings/ws`, `/v1/peers...`. For the admin socket
/// only, on its loop; who asks has been found out before. Source: docs/protocols/rtp.md, section 7.
class PeersApi {
public:
    explicit PeersApi(PairingDialer::Services services) : services_(services), dialer_(services), tasks_(services.loop.executor()) {}

    /// Answers the request, or returns false when the path is none of its own.
    Task<bool> serve(net::HttpExchange& exchange);
    /// The answer to an upgrade on `/v1/pairings/ws`; nothing for any other path.
    std::optional<net::Upgrade> upgrade(const net::HttpRequest& request);
    /// Begins no more pairings over WebSockets, ends those that run, then calls `done`. Needed before it is destroyed.
    void stop(std::function<void()> done) {
        stopping_ = true;
        tasks_.stop(std::move(done));
    }

private:
    class Socket;

    Task<void> pair(net::HttpExchange& exchange);
    Task<void> pair_over(std::shared_ptr<Socket> socket, std::string text);
    void identity(net::HttpExchange& exchange);
    Task<void> list(net::HttpExchange& exchange);
    Task<void> peer_routes(net::HttpExchange& exchange, std::string_view rest);
    Task<void> show(net::HttpExchange& exchange, trust::PeerName name);
    Task<void> change(net::HttpExchange& exchange, trust::PeerName name);
    Task<void> renew(net::HttpExchange& exchange, trust::PeerName name);
    Task<void> revoke(net::HttpExchange& exchange, trust::PeerName name);

    PairingDialer::Services services_;
    PairingDialer dialer_;
    bool stopping_ = false;
    TaskGroup tasks_;
};

}  // namespace crab::rtp
