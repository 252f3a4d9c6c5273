#include "net/http/route_metrics.hpp"

#include "net/http/route_table.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace crab::net {
namespace {

/// The sum over all loops of what `pick` takes from the row of that index.
template <class Pick>
std::uint64_t sum(const ListenerMetrics& listener, std::size_t index, Pick pick) {
    std::uint64_t total = 0;
    for (const RouteMetrics* const loop : listener.loops) total += pick(loop->row(index)).value();
    return total;
}

/// `listener="public",route="/v1/tools",method="GET"`.
std::string labels_of(const ListenerMetrics& listener, std::size_t index) {
    const auto& routes = listener.routes->routes();
    const bool known = index < routes.size();
    return fmt::format(R"(listener="{}",route="{}",method="{}")", listener.name,
                       known ? routes[index].path : "other",
                       known ? name_of(routes[index].method) : "other");
}

/// `write(listener, index)` for each row of each listener.
template <class Write>
void for_rows(std::span<const ListenerMetrics> listeners, Write write) {
    for (const ListenerMetrics& listener : listeners) {
        for (std::size_t i = 0; i <= listener.routes->routes().size(); ++i) write(listener, i);
    }
}

void append_durations(std::string& out, const ListenerMetrics& listener, std::size_t index) {
    using Row = RouteMetrics::Row;
    std::array<std::uint64_t, RouteMetrics::kBounds.size() + 1> counts{};
    for (std::size_t i = 0; i < counts.size(); ++i)
        counts[i] = sum(listener, index, [i](const Row& row) -> auto& { return row.durations[i]; });
    if (std::ranges::all_of(counts, [](std::uint64_t count) { return count == 0; })) return;
    const std::string labels = labels_of(listener, index);
    const auto line = std::back_inserter(out);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        below += counts[i];
        const std::string bound = i < RouteMetrics::kBounds.size()
                                      ? fmt::format("{:#}", RouteMetrics::kBounds[i])
                                      : "+Inf";
        fmt::format_to(line, "crab_http_request_duration_seconds_bucket{{{},le=\"{}\"}} {}\n",
                       labels, bound, below);
    }
    const auto ns = sum(listener, index, [](const Row& row) -> auto& { return row.duration_ns; });
    fmt::format_to(line,
                   "crab_http_request_duration_seconds_sum{{{0}}} {1}\n"
                   "crab_http_request_duration_seconds_count{{{0}}} {2}\n",
                   labels, static_cast<double>(ns) / 1e9, below);
}

}  // namespace

void RouteMetrics::count(const RouteMatch& match, int status, std::chrono::nanoseconds duration) {
    Row& row = match.found() ? rows_[match.index] : others_;
    row.classes[static_cast<std::size_t>(std::clamp(status / 100, 1, 5) - 1)].add();
    const double seconds = std::chrono::duration<double>(duration).count();
    const auto bound = std::ranges::lower_bound(kBounds, seconds) - kBounds.begin();
    row.durations[static_cast<std::size_t>(bound)].add();
    row.duration_ns.add(static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0)));
}

void append_route_metrics(std::string& out, std::span<const ListenerMetrics> listeners) {
    out +=
        "# HELP crab_http_requests_total HTTP requests that were answered, by route and class of "
        "status.\n# TYPE crab_http_requests_total counter\n";
    for_rows(listeners, [&out](const ListenerMetrics& listener, std::size_t index) {
        for (std::size_t i = 0; i < RouteMetrics::kClasses; ++i) {
            const auto total = sum(listener, index, [i](const RouteMetrics::Row& row) -> auto& {
                return row.classes[i];
            });
            if (total == 0) continue;
            fmt::format_to(std::back_inserter(out),
                           "crab_http_requests_total{{{},status=\"{}xx\"}} {}\n",
                           labels_of(listener, index), i + 1, total);
        }
    });
    out +=
        "# HELP crab_http_request_duration_seconds From the head of a request to the end of its "
        "answer.\n# TYPE crab_http_request_duration_seconds histogram\n";
    for_rows(listeners, [&out](const ListenerMetrics& listener, std::size_t index) {
        append_durations(out, listener, index);
    });
}

}  // namespace crab::net
