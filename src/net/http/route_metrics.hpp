#pragma once

#include "base/counter.hpp"
#include "net/http/route_match.hpp"

#include <array>
#include <chrono>
#include <deque>
#include <span>
#include <string>
#include <string_view>

namespace crab::net {

class RouteTable;

/// What one event loop counts about the requests of a listener, by route: one row per route, and
/// one for all requests that mean none, whatever their path. One writing thread; a request costs
/// three plain stores.
class RouteMetrics {
public:
    static constexpr std::size_t kClasses = 5;  ///< of a status: 1xx to 5xx
    static constexpr std::array<double, 12> kBounds{0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                    0.025,   0.1,    0.25,  1,      5,     30};

    /// For one more route, in the order of RouteTable::add(); before anything is counted.
    void add_route() { rows_.emplace_back(); }
    /// One request that was answered; `duration` from its head to the end of its answer.
    void count(const RouteMatch& match, int status, std::chrono::nanoseconds duration);

    struct Row {
        std::array<Counter, kClasses> classes;
        std::array<Counter, kBounds.size() + 1> durations;
        Counter duration_ns;
    };
    /// The row of a route, by its index; beyond all of them that of the other requests.
    const Row& row(std::size_t index) const {
        return index < rows_.size() ? rows_[index] : others_;
    }

private:
    std::deque<Row> rows_;
    Row others_;
};

/// A listener's routes, and what each of its event loops has counted.
struct ListenerMetrics {
    std::string_view name;  ///< for the label `listener`
    const RouteTable* routes = nullptr;
    std::vector<const RouteMetrics*> loops;
};

/// Appends `crab_http_requests_total` and `crab_http_request_duration_seconds` of all listeners in
/// Prometheus' text format; rows that counted nothing are left out. The label `route` is a pattern
/// or `other`, never a path.
void append_route_metrics(std::string& out, std::span<const ListenerMetrics> listeners);

}  // namespace crab::net
