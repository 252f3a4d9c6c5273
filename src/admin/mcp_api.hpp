#pragma once

#include "admin/mcp_servers.hpp"
#include "base/task/blocking_pool.hpp"
#include "core/call/principal.hpp"
#include "net/http/routes.hpp"

#include <functional>
#include <string>

namespace crab::admin {

/// MCP servers on the admin socket, and nowhere else, because a server's command comes from the
/// operator only: `GET`, `POST /v1/mcp/servers`, `PUT`, `DELETE /v1/mcp/servers/{name}`, and what
/// has changed of its descriptions. Used on one loop; the pool must be destroyed first.
class McpApi {
public:
    struct Services {
        McpServerConfigs& configs;
        /// Null while no servers run.
        std::function<McpServersControl*()> control;
        BlockingPool& pool;
    };
    explicit McpApi(Services services) : services_(std::move(services)) {}
    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    Task<void> list(net::HttpExchange& exchange);
    Task<void> put(net::HttpExchange& exchange, std::string name, McpServerConfigs::Put how);
    Task<void> remove(net::HttpExchange& exchange, std::string name);
    Task<void> diff(net::HttpExchange& exchange, std::string name);
    Task<void> approve(net::HttpExchange& exchange, std::string name);
    void add_login_routes(net::Routes<core::PrincipalRef>& routes);
    Task<void> begin_login(net::HttpExchange& exchange, std::string name);
    Task<void> finish_login(net::HttpExchange& exchange, std::string name, std::string login);
    Task<void> logout(net::HttpExchange& exchange, std::string name);
    Result<McpServersControl*> control_of(std::string_view name);
    bool knows(std::string_view name);

    const Services services_;
};

}  // namespace crab::admin
