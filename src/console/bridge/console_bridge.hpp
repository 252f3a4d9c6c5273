#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "console/bridge/console_access.hpp"
#include "console/bridge/console_service.hpp"
#include "console/relay/api_relay.hpp"
#include "crypto/random_source.hpp"
#include "net/http/http_client.hpp"
#include "net/http/http_server.hpp"
#include "net/loop/event_loop.hpp"
#include "net/loop/listener.hpp"
#include "net/loop/loop_thread.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace crab::console {

/// The console of one person on this machine: a port of 127.0.0.1 in front of the gateway's admin
/// socket. Its sessions are its own, so they outlive restarts of the gateway and end with it. Its
/// functions are for one thread; what it serves runs on a thread of its own.
class ConsoleBridge {
public:
    struct Options {
        std::string admin_socket;
        std::uint16_t port = 0;  ///< 0: any that is free
        std::string principal, version;
        bool read_only = false;
        Milliseconds idle = std::chrono::hours(8);  ///< of a session
    };
    /// Listens. Errors: those of Listener::bind().
    static Result<std::unique_ptr<ConsoleBridge>> start(Options options);
    ConsoleBridge(const ConsoleBridge&) = delete;
    ConsoleBridge& operator=(const ConsoleBridge&) = delete;
    /// Ends the sessions and whatever is being served.
    ~ConsoleBridge();

    /// Where a browser gets in, once and soon.
    Secret<std::string> open_link();

private:
    ConsoleBridge(std::unique_ptr<net::Listener> listener, Options options,
                  const net::SocketAddress& gateway);

    RealClock clock_;
    crypto::SystemRandom random_;
    std::unique_ptr<net::Listener> listener_;
    net::EventLoop loop_{clock_};
    net::HttpClient gateway_;
    SessionRecords records_;
    ConsoleAccess access_;
    ApiRelay relay_;
    ConsoleService service_;
    std::unique_ptr<net::HttpServer> server_;
    std::optional<net::LoopThread> thread_;
};

}  // namespace crab::console
