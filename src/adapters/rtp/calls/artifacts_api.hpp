#pragma once

#include "base/task/fair_pool.hpp"
#include "core/call/artifact_store.hpp"
#include "core/call/principal.hpp"
#include "net/http/routes.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace crab::rtp {

/// `/v1/artifacts`: callers list and fetch the large results of their tenant's calls; operators
/// list, fetch and delete all. One object serves all loops. Source: docs/protocols/clawseed.md,
/// section 9, "Large results"; RFC 9110, section 14 (ranges).
class ArtifactsApi {
public:
    struct Services {
        core::ArtifactStore& store;
        FairPool& pool;  ///< principals take turns
        /// May be empty
        std::function<void(std::string_view artifact_id, const core::Principal& by)> on_deleted{};
    };
    explicit ArtifactsApi(Services services) : services_(std::move(services)) {}

    void add_routes(net::Routes<core::PrincipalRef>& routes);
    std::uint64_t downloads() const { return downloads_.load(std::memory_order_relaxed); }

private:
    Task<void> list(net::HttpExchange& exchange, core::PrincipalRef principal);
    Task<void> get(net::HttpExchange& exchange, core::PrincipalRef principal, std::string id);
    Task<void> remove(net::HttpExchange& exchange, core::PrincipalRef principal, std::string id);

    Services services_;
    std::atomic<std::uint64_t> downloads_{0};
};

}  // namespace crab::rtp
