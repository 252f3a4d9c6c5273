#pragma once

#include "console/console_sessions.hpp"
#include "net/http/http_exchange.hpp"
#include "net/http/http_request.hpp"

#include <span>
#include <string>
#include <string_view>

namespace crab::console {

/// How requests bring a session's halves, and what its own routes answer: the same at every door of
/// the console. On one event loop.
class SessionAccess {
public:
    struct Options {
        std::string root = "/console/";  ///< with what stands before it
        std::string cookie;  ///< its name
        bool tls = false;  ///< the cookie goes over nothing else
        std::string version;  ///< of the program
        bool read_only = false;
        std::string way_in;  ///< a sentence for whoever has no session
    };
    /// `sessions` outlives it.
    SessionAccess(ConsoleSessions& sessions, Options options)
        : sessions_(sessions), options_(std::move(options)) {}

    /// The session whose halves the request brings, which is now used. Errors: kUnauthenticated,
    /// the same for every cause.
    Result<ConsoleSession> session_of(const net::HttpRequest& request);
    /// The session of a WebSocket's handshake, by its cookie and the ticket among its subprotocols,
    /// no longer valid then; `chosen` is the one to echo. Errors: kForbidden unless it says that
    /// its page is the console's at `origin`; kUnauthenticated.
    struct Admitted {
        ConsoleSession session;
        std::string chosen;
    };
    Result<Admitted> admit_websocket(const net::HttpRequest& request, std::string_view origin,
                                     std::span<const std::string_view> subprotocols);
    /// What a request is answered that needs a session and has none.
    Error no_session() const;
    const std::string& root() const { return options_.root; }

    /// Both halves, and who it is.
    void answer_opened(net::HttpExchange& exchange, const ConsoleSessions::Opened& opened) const;
    void answer_ended(net::HttpExchange& exchange) const;
    void show(net::HttpExchange& exchange);
    void give_ticket(net::HttpExchange& exchange);

private:
    std::string cookie_field(const net::HttpRequest& request, std::string_view value) const;
    std::string identity(const ConsoleSession& session, std::string_view key) const;

    ConsoleSessions& sessions_;
    const Options options_;
};

}  // namespace crab::console
