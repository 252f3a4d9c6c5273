#pragma once

#include "console/bridge/session_records.hpp"
#include "console/console_sessions.hpp"
#include "console/login_tries.hpp"
#include "console/one_time_codes.hpp"
#include "net/http/http_request.hpp"
#include "net/http/routes.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace crab::console {

/// Routes of the console have no principal: who asks is the session.
using Routes = net::Routes<std::monostate>;

/// Decides about every request to the console at one origin: whether the page itself sends it, and
/// in which session; and serves the session's own routes below `/console/session`. Sessions are
/// opened by one-time codes. On one event loop.
class ConsoleAccess {
public:
    struct Options {
        std::string authority;  ///< of the origin, which is plain HTTP: `127.0.0.1:42619`
        std::string principal;  ///< whom sessions act for
        std::string version;    ///< of the program
        bool read_only = false;
        ConsoleSessions::Options sessions{};
    };
    /// The references outlive it.
    ConsoleAccess(const Clock& clock, crypto::RandomSource& random, SessionRecords& records,
                  Options options);

    /// A code for one session, and the address that brings it to the page in its fragment.
    Secret<std::string> open_link();
    /// Why a request is not the page's, by its head alone: a name that another site may have given
    /// to this address, another origin or site, a write that is no JSON. Nothing: it may be.
    std::optional<Error> refuse_source(const net::HttpRequest& request) const;
    /// The session whose halves the request brings, which is now used. Errors: kUnauthenticated,
    /// the same for every cause.
    Result<ConsoleSession> session_of(const net::HttpRequest& request);
    /// The session of a WebSocket's handshake, by its cookie and the ticket among its subprotocols,
    /// which is good no more; `chosen` is the one to echo. Errors: kForbidden unless it says that
    /// its page is the console's; kUnauthenticated.
    struct Admitted {
        ConsoleSession session;
        std::string chosen;
    };
    Result<Admitted> admit_websocket(const net::HttpRequest& request,
                                     std::span<const std::string_view> subprotocols);
    ConsoleSessions& sessions() { return sessions_; }
    void add_routes(Routes& routes);

private:
    using Request = Routes::Request;
    Task<void> sign_in(const Request& request);
    void show(const Request& request);
    void sign_out(const Request& request);
    void give_ticket(const Request& request);
    std::string identity(const ConsoleSession& session, std::string_view key) const;

    const Options options_;
    const std::string origin_;
    /// With the port: all ports of a host share its cookies, other consoles' too.
    const std::string cookie_name_;
    SessionRecords& records_;
    OneTimeCodes codes_;
    ConsoleSessions sessions_;
    LoginTries tries_;
};

/// Whether it is the handshake of a WebSocket, or wants to be.
bool asks_for_upgrade(const net::HttpRequest& request);

/// What a request is answered that needs a session and has none.
Error no_session();

}  // namespace crab::console
