#pragma once

#include "admin/all_tools.hpp"
#include "admin/asked_principal.hpp"
#include "base/published.hpp"
#include "core/pipeline/call_services.hpp"
#include "core/policy/policy.hpp"
#include "core/registry/registry.hpp"
#include "net/http/routes.hpp"

namespace crab::admin {

/// `GET /v1/admin/policy/matrix?as&cursor&limit`: which tools may this principal call, and which
/// rule says so? Asks the policy of the running gateway as calls do, for the principal's own
/// tenant, about one page of all tools. One, on the admin socket's event loop.
class PolicyMatrix {
public:
    struct Services {
        const Published<core::RegistrySnapshot>& registry;
        const Published<core::CallRules>& rules;
        const AskedPrincipals& principals;
    };
    explicit PolicyMatrix(Services services) : services_(services), tools_(services.registry) {}

    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    using Request = net::Routes<core::PrincipalRef>::Request;

    void answer(const Request& request);

    const Services services_;
    const AllTools tools_;
};

}  // namespace crab::admin
