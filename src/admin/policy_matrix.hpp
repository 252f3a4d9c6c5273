#pragma once

#include "base/published.hpp"
#include "core/pipeline/call_services.hpp"
#include "core/policy/policy.hpp"
#include "core/registry/registry.hpp"
#include "net/http/routes.hpp"
#include "trust/tokens.hpp"

#include <memory>

namespace crab::admin {

/// `GET /v1/admin/policy/matrix?as&cursor&limit`: which tools may this principal call, and which
/// rule says so? Asks the policy of the running gateway as calls do, for the principal's own
/// tenant, about one page of all tools. One, on the admin socket's event loop.
class PolicyMatrix {
public:
    struct Services {
        const Published<core::RegistrySnapshot>& registry;
        const Published<core::CallRules>& rules;
        const trust::Tokens& tokens;
        const Clock& clock;
    };
    explicit PolicyMatrix(Services services);

    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    using Request = net::Routes<core::PrincipalRef>::Request;

    void answer(const Request& request);

    const Services services_;
    /// Hides no tool, so that those which rules deny are listed too.
    const std::shared_ptr<const core::Policy> sees_all_;
};

}  // namespace crab::admin
