#pragma once

#include "base/task/task_group.hpp"
#include "console/door/kept_sessions.hpp"
#include "console/door/passkey_routes.hpp"
#include "console/door/session_rights.hpp"
#include "console/relay/api_relay.hpp"
#include "console/relay/session_access.hpp"
#include "net/http/http_client.hpp"
#include "net/http/routes.hpp"
#include "trust/device_keys.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace crab::console {

/// The console for other machines, on one event loop of the public listener: the page, its
/// sessions, and below `/console/api/` what the gateway answers, as whoever is signed in. While
/// it is off there is no such path. The listener asks it about every request below its root.
class ConsoleDoor {
public:
    /// What it uses; all of it outlives it.
    struct Uses {
        net::EventLoop& loop;
        KeptSessions& kept;
        trust::DeviceKeys& keys;
        BlockingPool& pool;  ///< for keys that block
        Passkeys& passkeys;
        net::SocketAddress gateway;  ///< the admin socket of this process
        const net::RouteTable& gateway_routes;  ///< of that socket, once something is served
        /// One of the page's files, or 404
        std::function<void(net::HttpExchange&, std::string_view file)> serve_file;
        /// Why this Host is not served here
        std::function<std::optional<std::string>(const net::HttpRequest&)> refused_host;
        /// Whether pages of that origin are allowed by name
        std::function<bool(std::string_view origin)> is_named_origin;
    };
    /// `access.root` is that of the page, with the listener's prefix.
    ConsoleDoor(Uses uses, SessionAccess::Options access);

    void add_routes(net::Routes<core::PrincipalRef>& routes);
    /// Whether the request is below the root, or means it.
    bool covers(const net::HttpRequest& request) const;
    bool is_open() const { return uses_.kept.mode() != DoorMode::kOff; }
    /// Why a request that it covers is refused by its head. Nothing: it is not, or it is off.
    std::optional<net::Refusal> refuse_head(const net::HttpRequest& request);
    /// What a request of a route for sessions is answered that brings none. Asked once more when
    /// the body is there.
    std::optional<Error> refuse_session(const net::HttpRequest& request);
    /// Who brings the body of such a request; nothing: nobody who has proven anything.
    std::optional<std::string> owner_of_body(const net::HttpRequest& request);
    std::optional<net::Upgrade> upgrade(const net::HttpRequest& request,
                                        const net::WebSocketOffer& offer);

    /// Ends what runs in sessions that have ended.
    void end_what_is_over();
    /// Ends whatever is left; nothing is served any more.
    void stop(std::function<void()> done);

private:
    using Request = net::Routes<core::PrincipalRef>::Request;
    struct Credential;
    /// The page's own: `https` too where a proxy that ends TLS is named for this Host.
    std::string origin_of(const net::HttpRequest& request) const;
    /// That too, and not only by what the client says: with the port that this listens on, or by
    /// name. Nothing else: another program of this host, on a port of its own, asks for somebody's
    /// passkey in its own page, and would show it here with its own `Host`.
    std::optional<std::string> known_origin_of(const net::HttpRequest& request) const;
    void add_session_routes(net::Routes<core::PrincipalRef>& routes);
    void add_api_routes(net::Routes<core::PrincipalRef>& routes);
    /// The session of a request, if its principal may still come in.
    Result<ConsoleSession> session_of(const net::HttpRequest& request);
    std::string passed_on_for(const net::HttpRequest& request) const;
    bool refuse_try(net::HttpExchange& exchange);
    Task<Result<trust::Proven>> prove(const net::HttpRequest& request,
                                      const Credential& credential);
    Task<Result<trust::Proven>> prove_key_of(const net::HttpRequest& request,
                                             const Credential& credential);
    Task<void> sign_in(net::HttpExchange& exchange);
    Task<void> sign_out(net::HttpExchange& exchange);
    Task<void> prove_key(net::HttpExchange& exchange);
    void challenge(net::HttpExchange& exchange);
    Task<void> serve_api(net::HttpExchange& exchange, std::string_view method);
    /// What a frame of a session's chat is answered that is not passed on.
    std::optional<std::string> refuse_frame(std::uint64_t number, std::string_view frame);
    net::Upgrade open_socket(const net::HttpRequest& request, const net::WebSocketUpgrade& offer);

    const Uses uses_;
    SessionAccess access_;
    const SessionRights rights_;
    PasskeyRoutes passkeys_;
    net::HttpClient gateway_;
    ApiRelay relay_;
};

}  // namespace crab::console
