#pragma once

#include "admin/live/live_sources.hpp"
#include "base/task/blocking_pool.hpp"
#include "core/call/principal.hpp"
#include "core/policy/principal_limits.hpp"
#include "net/http/routes.hpp"

namespace crab::admin {

/// What happens now and has happened in the last hour: `GET /v1/admin/stream`, server-sent events;
/// `GET /v1/admin/stats`, sums by tool, principal or source; `GET /v1/admin/series`, all calls
/// minute by minute. One, on the admin socket's event loop; the pool must be destroyed first.
class LiveApi {
public:
    static constexpr std::size_t kStreamsPerPrincipal = 8, kStreams = 64;

    LiveApi(LiveSources sources, BlockingPool& pool, const Clock& clock)
        : sources_(std::move(sources)), pool_(pool), clock_(clock) {}

    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    using Request = net::Routes<core::PrincipalRef>::Request;

    Task<void> stream(net::HttpExchange& exchange, core::PrincipalRef principal);
    Task<void> stats(net::HttpExchange& exchange);
    Task<void> series(net::HttpExchange& exchange);

    const LiveSources sources_;
    BlockingPool& pool_;
    const Clock& clock_;
    core::PrincipalLimits streams_of_each_{kStreamsPerPrincipal};
    std::size_t streams_ = 0;
};

}  // namespace crab::admin
