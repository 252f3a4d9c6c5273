#pragma once

#include "core/audit/audit_log.hpp"
#include "core/call/principal.hpp"
#include "net/http/routes.hpp"

namespace crab::admin {

/// `POST /v1/admin/console/sessions`: `crab console`, whose sessions are its own, tells when one
/// begins or ends, and when a code is refused. Audit events
/// `console.session.opened`, `.ended`, `.refused`.
class ConsoleApi {
public:
    explicit ConsoleApi(core::AuditLog& audit) : audit_(audit) {}
    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    void record(net::HttpExchange& exchange, const core::Principal& principal);

    core::AuditLog& audit_;
};

}  // namespace crab::admin
