#pragma once

#include "net/http/http_service.hpp"
#include "net/http/route_answers.hpp"
#include "net/http/route_metrics.hpp"
#include "net/http/route_table.hpp"

#include <functional>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace crab::net {

/// A route table with handlers. `Principal` identifies callers to this listener; empty on routes
/// without authentication. An API declares its routes in a function `add_routes(Routes<...>&)`, and
/// outlives the table.
template <class Principal>
class Routes {
public:
    /// A matched and authorized request. Lives until it is answered.
    struct Request {
        HttpExchange& exchange;
        const Principal& principal;
        const PathArguments& arguments;
    };
    /// The answer to a request with an Upgrade field; nothing: it is an ordinary one.
    using UpgradeHandler = std::function<std::optional<Upgrade>(
        const HttpRequest&, const WebSocketOffer&, const Principal&)>;

    explicit Routes(std::string prefix = {}) : table_(std::move(prefix)) {}

    /// `handler` takes a `const Request&`; it answers at once, or returns a Task<void>, which may
    /// keep the reference.
    template <class Handler>
    void add(Route route, Handler handler) {
        table_.add(std::move(route));
        if (metrics_ != nullptr) metrics_->add_route();
        if constexpr (std::is_void_v<std::invoke_result_t<Handler&, const Request&>>) {
            handlers_.push_back({.now = std::move(handler), .later = {}, .upgrade = {}});
        } else {
            handlers_.push_back({.now = {}, .later = std::move(handler), .upgrade = {}});
        }
    }
    /// One that is opened by an upgrade; `handler` answers requests that ask for none.
    template <class Handler>
    void add_websocket(Route route, Handler handler, UpgradeHandler upgrade) {
        route.websocket = true;
        add(std::move(route), std::move(handler));
        handlers_.back().upgrade = std::move(upgrade);
    }

    /// Before any route: `metrics` gets a row for each. It outlives the table.
    void count_in(RouteMetrics& metrics) { metrics_ = &metrics; }
    const RouteTable& table() const { return table_; }
    RouteMatch find(const HttpRequest& request) const {
        return table_.find(request.method(), request.path());
    }

    /// Answers at once, or says that the answer of serve() has to be awaited. `match` was found.
    bool serve_now(const RouteMatch& match, const Request& request) const {
        const Handlers& handlers = handlers_[match.index];
        if (!handlers.now) return false;
        handlers.now(request);
        return true;
    }
    Task<void> serve(const RouteMatch& match, const Request& request) const {
        return handlers_[match.index].later(request);
    }
    /// Answers a request whose caller is known: by its route, else with 404, 405 or what OPTIONS
    /// asks.
    Task<void> answer(HttpExchange& exchange, const Principal& principal) const {
        const RouteMatch match = find(exchange.request());
        if (!found_or_refused(exchange, match)) co_return;
        const Request request{exchange, principal, match.arguments};
        if (!serve_now(match, request)) co_await serve(match, request);
    }
    /// Decides about an upgrade; `method` does not matter, for the handler sees the request.
    /// Nothing: this path has no WebSocket.
    std::optional<Upgrade> upgrade(const HttpRequest& request, const WebSocketOffer& offer,
                                   const Principal& principal) const {
        const RouteMatch match = table_.find("GET", request.path());
        if (!match.found() || !match.route->websocket) return std::nullopt;
        return handlers_[match.index].upgrade(request, offer, principal);
    }

private:
    struct Handlers {
        std::function<void(const Request&)> now;
        std::function<Task<void>(const Request&)> later;
        UpgradeHandler upgrade;
    };
    RouteTable table_;
    RouteMetrics* metrics_ = nullptr;
    std::vector<Handlers> handlers_;
};

}  // namespace crab::net
