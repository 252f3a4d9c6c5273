#pragma once

#include "net/http/http_service.hpp"
#include "net/http/routes.hpp"

#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace crab::net {

/// A service whose answers come from a route table. It tells the HTTP layer what follows from the
/// table: which route a request means, found once for each request, what its body may cost, whether
/// it is streamed; and counts requests by route. Who may is left to the listener, in serve(). On
/// one event loop.
template <class Principal>
class RoutedService : public HttpService {
public:
    RouteMatch match(const HttpRequest& request) final { return routes_.find(request); }
    RequestBodyLimits limits_for(const HttpRequest& request) override {
        const Route* const route = request.match.route;
        return route != nullptr ? route->limits({}) : RequestBodyLimits{};
    }
    bool streams_body(const HttpRequest& request) final {
        return request.match.found() && request.match.route->streams_body;
    }
    void answered(const HttpRequest& request, int status, std::chrono::nanoseconds duration) final {
        metrics_.count(request.match, status, duration);
    }
    /// From here on health says that it is stopping, and routes that are not served then are
    /// refused.
    void stop() { stopping_ = true; }

    /// To be filled before anything is served.
    Routes<Principal>& routes() { return routes_; }
    const RouteTable& table() const { return routes_.table(); }
    const RouteMetrics& metrics() const { return metrics_; }

protected:
    using Request = typename Routes<Principal>::Request;

    /// Whether `/readyz` says that calls are taken, unless it is stopping.
    virtual bool is_ready() const { return true; }

    explicit RoutedService(std::string prefix = {}) : routes_(std::move(prefix)) {
        routes_.count_in(metrics_);
    }
    /// `template_` with each of those paths: whether calls are taken.
    void add_health_routes(std::initializer_list<std::string_view> paths, Route route) {
        route.summary = "Whether calls are taken";
        route.answers = {{200, "health"}, {503, "health"}};
        for (const std::string_view path : paths) {
            route.path = path;
            routes_.add(route, [this, asks_ready = path == "/readyz"](const Request& request) {
                respond_health(request.exchange, stopping_ || (asks_ready && !is_ready()));
            });
        }
    }

    Routes<Principal> routes_;
    bool stopping_ = false;

private:
    RouteMetrics metrics_;
};

}  // namespace crab::net
