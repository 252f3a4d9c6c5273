#include "gateway/mcp_front.hpp"

#include <array>
#include <utility>

namespace crab::gateway {

/// The key that seals cursors is of this start: a client whose cursor is older begins anew.
Result<void> McpFront::start() {
    mcp::ServerOptions options;
    options.version = CRAB_VERSION;
    state_.emplace(std::move(options), context_.clock, random_,
                   crypto::AesKey(random_.bytes<32>()));
    for (const auto& lane : calls_.lanes()) {
        const mcp::Endpoint::Uses uses{.loop = lane->loop,
                                       .pipeline = lane->pipeline,
                                       .registry = context_.registry,
                                       .catalogs = shared_.catalogs,
                                       .watches = shared_.watches,
                                       .state = *state_};
        endpoints_.push_back(std::make_unique<mcp::Endpoint>(uses));
        loops_.push_back(&lane->loop);
    }
    return {};
}

void McpFront::add_routes(const ListenerRoutes& table) {
    if (table.kind == ListenerKind::kPublic) endpoints_[table.loop]->add_routes(table.routes);
}

void McpFront::drain() {
    for (std::size_t i = 0; i < endpoints_.size(); ++i)
        loops_[i]->post([endpoint = endpoints_[i].get()] { endpoint->stop(); });
}

}  // namespace crab::gateway
