#pragma once

#include "core/audit/audit_log.hpp"
#include "core/call/principal.hpp"
#include "net/http/http_exchange.hpp"
#include "net/http/route.hpp"

namespace crab::gateway {

/// Whether requests of that route may change something that has no record by itself: all but GET
/// and HEAD, and but those whose declaration says why not (Route::unrecorded). Such a request is
/// served only while the audit log accepts more.
bool is_change(const net::Route& route);

/// Records `admin.change`, once such a request was served: who, through which front, what, about
/// what, and how it ended. Of bodies and queries it has the few members that name things.
void record_change(core::AuditLog& log, const net::HttpExchange& exchange,
                   const core::Principal& principal);

}  // namespace crab::gateway
