#pragma once

#include "admin/asked_principal.hpp"
#include "admin/tool_catalog.hpp"
#include "core/pipeline/call_check.hpp"
#include "json/parser.hpp"
#include "net/http/routes.hpp"

#include <string>
#include <string_view>

namespace crab::admin {

/// The operator's view of tools: `GET /v1/admin/tools`, whole or in pages of brief rows; `GET
/// /v1/admin/tools/{name}`; and `POST /v1/admin/tools/check`, what would become of a call. One, on
/// the admin socket's event loop.
class ToolsApi {
public:
    struct Services {
        ToolCatalog::Sources sources;
        core::CallCheck& checks;
        const AskedPrincipals& principals;
    };
    explicit ToolsApi(Services services)
        : services_(std::move(services)), catalog_(services_.sources) {}

    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    using Request = net::Routes<core::PrincipalRef>::Request;

    void list(const Request& request);
    void list_all(net::HttpExchange& exchange, const core::Principal& principal);
    void page(net::HttpExchange& exchange, const core::Principal& principal);
    void show(const Request& request);
    Task<void> check(const Request& request);

    const Services services_;
    ToolCatalog catalog_;
    json::Parser parser_;  ///< of bodies; calls have their own
};

}  // namespace crab::admin
