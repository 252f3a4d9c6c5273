#pragma once

#include "base/byte_budget.hpp"
#include "base/task/task.hpp"
#include "net/http/body_limits.hpp"
#include "net/http/http_exchange.hpp"
#include "net/http/http_request.hpp"
#include "net/websocket/websocket_session.hpp"

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace crab::net {

/// Whether a body is accepted, and which budget it is charged to.
struct BodyAdmission {
    bool admitted = true;
    std::shared_ptr<ByteBudget> budget;   ///< null: not limited
};

using OwnedHeaders = std::vector<std::pair<std::string, std::string>>;

/// A valid WebSocket handshake, or the status and sentence to refuse it with.
using WebSocketOffer = std::expected<WebSocketUpgrade, HttpRefusal>;

/// A refusal. Without a content type, `body` is the message for refusal_body().
struct Refusal {
    int status = 403;
    std::string content_type = "application/json";
    std::string body;
    OwnedHeaders headers;
};
/// The answer to a WebSocket handshake that is taken.
struct AcceptUpgrade {
    std::shared_ptr<WebSocketHandler> handler;
    std::string subprotocol;      ///< echoed; empty: none
    bool allow_deflate = false;   ///< honour an offer of permessage-deflate
    bool proven = true;  ///< the caller is authenticated; others are evicted first
    OwnedHeaders headers;
    WebSocketOptions options;
};
using Upgrade = std::variant<Refusal, AcceptUpgrade>;

/// What a server serves. One object may serve several loops; each call runs on the loop of its
/// connection.
class HttpService {
public:
    virtual ~HttpService() = default;

    /// Whether a new connection is authenticated by itself, by its certificate or user. Others are
    /// evicted first until serve() calls HttpExchange::prove_caller().
    virtual bool knows(const Connection&) { return false; }
    /// Answers one request. Cancelled when the caller goes away. Returning without an answer, or
    /// throwing, is a 500.
    virtual Task<void> serve(HttpExchange& exchange) = 0;
    /// Decides about a request with an Upgrade field, at once; nothing: it is an ordinary request
    /// for serve(). `offer` is the WebSocket handshake or what is wrong with it, so that the
    /// service chooses the order of its refusals; a wrong one that is accepted is refused with its
    /// status all the same.
    virtual std::optional<Upgrade> upgrade(const HttpRequest& request,
                                           const WebSocketOffer& offer) {
        static_cast<void>(request), static_cast<void>(offer);
        return std::nullopt;
    }
    /// Which route a request means whose head is complete. It is asked once, before anything else
    /// about the request, and the answer is HttpRequest::match.
    virtual RouteMatch match(const HttpRequest&) { return {}; }
    /// A request whose head could be read was answered, by this service or by the HTTP layer;
    /// `duration` from its head to the end of the answer.
    virtual void answered(const HttpRequest& request, int status,
                          std::chrono::nanoseconds duration) {
        static_cast<void>(request), static_cast<void>(status), static_cast<void>(duration);
    }
    /// Checks a request whose head is complete, upgrades included, before its body is read;
    /// nothing: it continues. A refused request is answered and its connection closed.
    virtual std::optional<Refusal> refuse_head(const HttpRequest&) { return std::nullopt; }
    /// Limits for the body of a request whose head is complete; only the head is set.
    virtual RequestBodyLimits limits_for(const HttpRequest&) { return {}; }
    /// Whether serve() takes the body of this request piece by piece (HttpExchange::read_body) and
    /// begins as soon as its head is complete; only the head is set. Of its limits, `timeout` is
    /// then how long the caller may be silent.
    virtual bool streams_body(const HttpRequest&) { return false; }
    /// Decides, by the head, whether to accept a body that did not arrive with it. If not admitted,
    /// serve() runs without a body, and the connection is closed.
    virtual BodyAdmission admit_body(const HttpRequest&) { return {}; }
    /// Appends the JSON body of a refusal by the HTTP layer itself: 413, 408, 431, 400, 503, a 500
    /// in place of a missing answer, a broken WebSocket handshake. `request` is null while its path
    /// is not known; of a head that is broken or late it has method, path and match only, and its
    /// body may be missing. By default `{"error":reason,"code":...}`.
    virtual void refusal_body(const HttpRequest* request, int status, std::string_view reason,
                              std::string& body);
};

}  // namespace crab::net
