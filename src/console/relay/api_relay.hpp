#pragma once

#include "base/task/task_group.hpp"
#include "console/relay/websocket_relay.hpp"
#include "net/http/dialer.hpp"
#include "net/http/http_client.hpp"
#include "net/http/http_service.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

namespace crab::console {

/// Passes requests and WebSockets of sessions on to the gateway's admin socket, and says that they
/// come through the console. Only what is known to be needed is passed on. Knows what runs in which
/// session, to end it with that. On one event loop.
class ApiRelay {
public:
    static constexpr std::size_t kMostSockets = 64, kMostOfOneOwner = 16;

    /// What it uses; all of it outlives it.
    struct Uses {
        net::EventLoop& loop;
        net::HttpClient& gateway;
        net::SocketAddress address;  ///< of the gateway
    };
    explicit ApiRelay(Uses uses) : uses_(std::move(uses)), tasks_(uses_.loop.executor()) {}

    /// A request, and as whom: what `acting` says, in the field `Crab-Acting`; empty: as the user
    /// who runs this process.
    struct Passed {
        std::uint64_t session = 0;  ///< 0: of none
        std::string_view method;
        std::string target;
        std::string acting;
    };
    Task<void> pass(net::HttpExchange& exchange, Passed passed);
    /// A WebSocket to `target`; `chosen` is the subprotocol that is echoed and not passed on.
    struct Socket {
        std::uint64_t session = 0;
        std::string target, chosen, acting;
        WebSocketRelay::Instead instead{};  ///< of what the browser sends
        std::string owner{};  ///< one has kMostOfOneOwner; empty: of nobody in particular
    };
    net::Upgrade open_socket(const net::WebSocketUpgrade& offer, Socket socket);

    /// Ends whatever runs in sessions of which `is_over` says so.
    void end_running(const std::function<bool(std::uint64_t session)>& is_over);
    /// Lets the WebSockets' gateway sides go at once.
    void abort_sockets();
    /// Last: ends what is left.
    void stop(std::function<void()> done) { tasks_.stop(std::move(done)); }

private:
    /// What runs in a session.
    struct Running {
        std::uint64_t session = 0;  ///< 0: it has ended
        CancelSignal* canceller = nullptr;
    };
    struct OpenSocket {
        std::uint64_t session = 0;
        WebSocketRelay::Ref browser, gateway;
        std::string owner;
    };
    /// `running` is null for a request of no session.
    Task<void> send(net::HttpExchange& exchange, const Passed& passed, const Running* running);
    Task<void> connect(net::WebSocketTarget target, WebSocketRelay::Ref browser,
                       WebSocketRelay::Ref gateway);
    void forget_closed();

    const Uses uses_;
    std::list<Running> running_;
    std::vector<OpenSocket> sockets_;
    TaskGroup tasks_;
};

/// `error` as the answer to a request whose body is not read.
net::Refusal refusal_of(const Error& error);

}  // namespace crab::console
