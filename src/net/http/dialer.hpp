#pragma once

#include "base/result.hpp"
#include "base/task/task.hpp"
#include "net/http/http_service.hpp"
#include "net/loop/endpoint.hpp"
#include "net/tls/connection.hpp"
#include "net/tls/tls_context.hpp"

#include <memory>
#include <string>
#include <vector>

namespace crab::net {

/// What to connect to. Addresses are tried in order; resolve() finds those of a name.
struct DialTarget {
    std::vector<SocketAddress> addresses;
    std::shared_ptr<TlsContext> tls;  ///< null: plain
    std::string server_name;          ///< for SNI and the name check
    std::string text{};               ///< what errors call it; empty: the address
    /// Of the connection, which they must outlive; null: those of ConnectionLimits.
    const ConnectionLimits* limits = nullptr;
};

/// Connects and hands the connection to `handler`, whose on_open() runs before this returns. Runs
/// on the loop's thread. Errors: kUnavailable, kTimeout, kForbidden when TLS is refused: a
/// certificate, or the version.
Task<Result<std::shared_ptr<Connection>>> dial(EventLoop& loop, DialTarget target,
                                               std::shared_ptr<ConnectionHandler> handler,
                                               Deadline deadline);

struct WebSocketTarget {
    DialTarget server;
    std::string host;                       ///< the Host field
    std::string target = "/";               ///< path and query
    OwnedHeaders headers;                   ///< such as Authorization
    std::vector<std::string> subprotocols;  ///< offered
    bool offer_deflate = false;
    WebSocketOptions options;               ///< its role becomes kClient
    /// Receives the body, possibly truncated, of an answer that is not an upgrade; may be null
    std::shared_ptr<std::string> refusal{};
};

struct WebSocketLink {
    std::shared_ptr<WebSocketSession> session;
    std::string subprotocol;  ///< chosen by the server
};

/// Connects and upgrades; `handler.on_open()` runs before this returns. A refusal by HTTP has
/// `details` {"status":401} and, if the server sent one, retry_after. Errors: kUnavailable,
/// kTimeout, kUnauthenticated (401), kForbidden (403), kNotFound (404), kRateLimited (429),
/// kInternal for an invalid handshake.
Task<Result<WebSocketLink>> websocket_connect(EventLoop& loop, WebSocketTarget target,
                                              std::shared_ptr<WebSocketHandler> handler,
                                              Deadline deadline);

}  // namespace crab::net
