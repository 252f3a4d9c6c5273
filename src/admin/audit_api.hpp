#pragma once

#include "base/task/fair_pool.hpp"
#include "core/audit/audit_log.hpp"
#include "core/audit/audit_search.hpp"
#include "core/call/principal.hpp"
#include "core/policy/principal_limits.hpp"
#include "net/http/routes.hpp"

#include <functional>
#include <string>
#include <utility>

namespace crab::admin {

/// The audit log for operators: `GET /v1/admin/audit`, searched in parts; `…/export`, streamed as
/// fast as it is read; `POST …/verify`. It reads on threads of its own, where a principal has one
/// scan at a time. One, on the admin socket's event loop.
class AuditApi {
public:
    struct Services {
        core::AuditLog& log;
        core::AuditStore& store;
        const Clock& clock;
    };
    explicit AuditApi(Services services) : services_(services) {}

    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    using Request = net::Routes<core::PrincipalRef>::Request;
    static constexpr std::size_t kMostScans = 8;  ///< of a principal: one runs, the others wait
    static constexpr std::size_t kMostExports = 2;  ///< of a principal

    Task<void> search(const Request& request);
    Task<void> stream(const Request& request);
    Task<void> verify(const Request& request);
    Task<Result<core::AuditFound>> scan(std::string principal, const core::AuditFilter& filter,
                                        core::AuditScan scan);

    const Services services_;
    core::PrincipalLimits scans_{kMostScans}, exports_{kMostExports};
    bool verifying_ = false;
    FairPool threads_{2};  ///< last: what it runs refers to the rest
};

}  // namespace crab::admin
