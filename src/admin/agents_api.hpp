#pragma once

#include "agent/tool_offer.hpp"
#include "base/task/blocking_pool.hpp"
#include "core/chat/chat_session_store.hpp"
#include "core/events/event_turn_store.hpp"
#include "core/pipeline/pipeline.hpp"
#include "net/http/routes.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace crab::admin {

/// An agent as it is configured now.
struct ShownAgent {
    std::string name, tenant;
    std::vector<std::string> models;                   ///< by their names
    std::vector<std::string> events;                   ///< that start it, as they are written
    std::vector<std::string> tools_allow, tools_deny;  ///< globs
};

/// Agents on the admin socket. Used on one loop.
/// - `GET /v1/admin/agents`: {`agents`, `turns`}, with the latest turns started by events.
/// - `GET /v1/admin/agents/turns/{turn_id}`: {`turn`, `messages`}, with the messages of its chat
///   session.
/// - `GET /v1/admin/agents/tools?agent`: {`tools` of {`name`, `tokens`, `offered`}, …}, the tools
///   that a model of that agent would be offered.
class AgentsApi {
public:
    struct Services {
        std::function<std::vector<ShownAgent>()> configured;
        std::function<std::shared_ptr<const agent::AgentCatalog>()> agents;
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

}  // namespace crab::admin
