#pragma once

#include "base/task/task_group.hpp"
#include "console/bridge/console_access.hpp"
#include "console/bridge/websocket_relay.hpp"
#include "net/http/dialer.hpp"
#include "net/http/http_client.hpp"
#include "net/http/routed_service.hpp"
#include "net/loop/periodic.hpp"

#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace crab::console {

/// What `crab console` serves: the session's routes, the page's files, and below `/console/api/`
/// what the gateway answers to the operator, `/ws/chat` too. Only what is known to be needed is
/// passed on, and says that it comes through the console. Whatever runs in a session ends with it,
/// a second later at most. On one event loop.
class ConsoleService final : public net::RoutedService<std::monostate> {
public:
    /// What it uses; all of it outlives it.
    struct Uses {
        net::EventLoop& loop;
        ConsoleAccess& access;
        SessionRecords& records;
        net::HttpClient& gateway;
        net::SocketAddress address;  ///< of the gateway
    };
    /// `read_only`: requests to the gateway are GET, and there are no WebSockets.
    ConsoleService(Uses uses, bool read_only);

    /// From here on ends of sessions are looked for.
    void begin();
    /// Ends all sessions, and what runs in them; `done` once that is recorded, or after 2 s.
    void stop_sessions(std::function<void()> done);
    /// Then, last: ends what is left.
    void stop_tasks(std::function<void()> done) { tasks_.stop(std::move(done)); }

    std::optional<net::Refusal> refuse_head(const net::HttpRequest& request) override;
    net::BodyAdmission admit_body(const net::HttpRequest& request) override;
    Task<void> serve(net::HttpExchange& exchange) override;
    std::optional<net::Upgrade> upgrade(const net::HttpRequest& request,
                                        const net::WebSocketOffer& offer) override;

private:
    static constexpr std::size_t kMostBytes = std::size_t{16} << 20;  ///< of an API request

    /// What runs in a session.
    struct Running {
        std::uint64_t session = 0;
        CancelSignal* canceller = nullptr;
    };
    struct OpenSocket {
        std::uint64_t session = 0;
        WebSocketRelay::Ref browser, gateway;
    };

    Task<void> serve_api(const Request& request, std::string_view method);
    Task<void> serve_file(const Request& request);
    Task<void> relay(net::HttpExchange& exchange, std::string_view method, std::string target);
    net::Upgrade open_socket(const net::HttpRequest& request, const net::WebSocketUpgrade& offer);
    Task<void> connect(net::WebSocketTarget target, WebSocketRelay::Ref browser,
                       WebSocketRelay::Ref gateway);
    void end_what_is_over();
    void end_running(std::uint64_t session);
    Task<void> write_records();

    const Uses uses_;
    const bool read_only_;
    std::optional<net::Periodic> look_;
    std::list<Running> running_;
    std::vector<OpenSocket> sockets_;
    bool writing_ = false;  ///< records
    TaskGroup tasks_;
};

}  // namespace crab::console
