#pragma once

#include "agent/tool_offer.hpp"
#include "base/task/blocking_pool.hpp"
#include "core/chat/chat_session_store.hpp"
#include "core/events/event_turn_store.hpp"
#include "core/pipeline/pipeline.hpp"
#include "gateway/turn_runners.hpp"
#include "net/http/routes.hpp"

#include <memory>

namespace crab::gateway {

/// Agents on the admin socket. Used on one loop.
/// - `GET /v1/admin/agents`: {`agents`, `turns`}, with the latest turns started by events.
/// - `GET /v1/admin/agents/turns/{turn_id}`: {`turn`, `messages`}, with the messages of its chat
///   session.
/// - `GET /v1/admin/agents/tools?agent`: {`tools` of {`name`, `tokens`, `offered`}, …}, the tools
///   that a model of that agent would be offered.
class AgentsApi {
public:
    struct Services {
        const Published<TurnSetup>& setup;
        core::Pipeline& pipeline;
        core::EventTurnStore& turns;
        core::ChatSessionStore& chats;
        BlockingPool& pool;
    };
    explicit AgentsApi(Services services) : services_(std::move(services)) {}
    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    Task<void> list(net::HttpExchange& exchange);
    Task<void> show(net::HttpExchange& exchange, std::string turn_id);
    void price(net::HttpExchange& exchange, const core::Principal& principal);

    Services services_;
    agent::ToolOffers offers_;
};

}  // namespace crab::gateway
