#pragma once

#include "adapters/rtp/pairing/pairing_dialer.hpp"
#include "base/task/task_group.hpp"
#include "core/call/principal.hpp"
#include "net/http/routes.hpp"
#include "trust/peers.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crab::rtp {

/// The operator's routes that pair and renew: `/v1/pairings`, `/v1/pairings/ws`,
/// `/v1/peers/{type}/{id}/renew`. For the admin socket only, on its loop; callers are authenticated
/// by the listener. Source: docs/protocols/rtp.md, section 7.
class PairingsApi {
public:
    /// `dialer` runs on `loop`; all outlive this.
    PairingsApi(net::EventLoop& loop, PairingDialer& dialer, const trust::Peers& peers)
        : dialer_(dialer), peers_(peers), tasks_(loop.executor()) {}

    void add_routes(net::Routes<core::PrincipalRef>& routes);
    /// Starts no more pairings over WebSockets, ends running ones, then calls `done`. Required
    /// before destruction.
    void stop(std::function<void()> done) {
        stopping_ = true;
        tasks_.stop(std::move(done));
    }

private:
    class Socket;

    Task<void> pair(net::HttpExchange& exchange);
    Task<void> pair_over(std::shared_ptr<Socket> socket, std::string text);
    Task<void> renew(net::HttpExchange& exchange, const net::PathArguments& arguments);

    PairingDialer& dialer_;
    const trust::Peers& peers_;
    bool stopping_ = false;
    TaskGroup tasks_;
};

}  // namespace crab::rtp
