#pragma once

#include "admin/approval_feed.hpp"
#include "base/task/blocking_pool.hpp"
#include "core/approvals/approvals.hpp"
#include "core/call/principal.hpp"
#include "json/parser.hpp"
#include "net/http/routes.hpp"

#include <string>
#include <string_view>

namespace crab::admin {

/// Approvals on the admin socket, below `/v1/admin/approvals`: `GET` {`watchers`, `approvals`: open
/// and recently ended}; `GET /<id>`; `POST /<id>` {`decision`: `allow`|`deny`, `scope`?:
/// `once`|`session`|`always`}; `GET /remembered` {`remembered`}; `DELETE /remembered/<id>`; `GET
/// /watch`: server-sent events `question` and `end`, beginning with the open questions. While a
/// client watches, calls that need an approval wait for one. Used on one loop; the pool must be
/// destroyed first.
class ApprovalsApi {
public:
    ApprovalsApi(core::Approvals& approvals, ApprovalFeed& feed, BlockingPool& pool)
        : approvals_(approvals), feed_(feed), pool_(pool) {}
    /// Each route names the action that a peer needs.
    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    void list(net::HttpExchange& exchange) const;
    void show(net::HttpExchange& exchange, std::string_view id) const;
    void remembered(net::HttpExchange& exchange) const;
    Task<void> decide(net::HttpExchange& exchange, core::PrincipalRef principal, std::string id);
    Task<void> forget(net::HttpExchange& exchange, std::string id);
    Task<void> watch(net::HttpExchange& exchange);

    core::Approvals& approvals_;
    ApprovalFeed& feed_;
    BlockingPool& pool_;
    json::Parser parser_;
    std::size_t watchers_ = 0;
};

}  // namespace crab::admin
