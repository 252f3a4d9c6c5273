#include "fleet/registry_directory.hpp"

#include "core/policy/policy.hpp"
#include "fleet/remote_host.hpp"

namespace crab::fleet {

Task<std::optional<Route>> RegistryDirectory::find(const core::Call& call,
                                                   const core::Principal& principal) {
    const core::Policy& policy = *rules_.get()->policy;
    const core::View view{
        .principal = &principal,
        .policy = &policy,
        .tenant = call.tenant.empty() ? policy.home_tenant(principal) : call.tenant,
        .prefer_source = call.prefer_source,
        .prefer = call.prefer_connection,
        .scope = call.scope};
    const auto tool = registry_.get()->resolve(view, call.tool, call.provider_id);
    // What is refused is refused by this node's pipeline, which says why.
    if (!tool) co_return std::nullopt;
    const auto* const remote = dynamic_cast<const RemoteHost*>((*tool)->host.get());
    if (remote == nullptr) co_return std::nullopt;
    Route route = remote->route();
    route.tool = (*tool)->unique_name;
    route.streams = (*tool)->spec.streams;
    route.tenant = view.tenant;
    co_return route;
}

}  // namespace crab::fleet
