#include "fleet/registry_directory.hpp"

#include "base/task/waiter.hpp"
#include "core/policy/policy.hpp"
#include "fleet/remote_host.hpp"

#include <string>
#include <utility>

namespace crab::fleet {

// A node that has just begun, and whose callers were at another one a moment ago.
Task<void> RegistryDirectory::wait_known() {
    constexpr Milliseconds kLook{20};
    const SteadyTime until = clock_.steady_now() + kPatience;
    Waiter pause(timers_);
    while (!known_ && clock_.steady_now() < until)
        if (co_await pause.wait(clock_.steady_now() + kLook) == WaitEnd::kCancelled) break;
}

RegistryDirectory::Found RegistryDirectory::look(const core::Call& call,
                                                 const core::Principal& principal) {
    const core::Policy& policy = *rules_.get()->policy;
    const core::View view{
        .principal = &principal,
        .policy = &policy,
        .tenant = call.tenant.empty() ? policy.home_tenant(principal) : call.tenant,
        .prefer_source = call.prefer_source,
        .prefer = call.prefer_connection,
        .scope = call.scope};
    return {.tool = registry_.get()->resolve(view, call.tool, call.provider_id),
            .tenant = std::string(view.tenant)};
}

Task<std::optional<Route>> RegistryDirectory::find(const core::Call& call,
                                                   const core::Principal& principal) {
    Found found = look(call, principal);
    if (!found.tool && !known_) {
        co_await wait_known();
        found = look(call, principal);
    }
    // What is refused is refused by this node's pipeline, which says why.
    if (!found.tool) co_return std::nullopt;
    const core::Tool& tool = **found.tool;
    const auto* const remote = dynamic_cast<const RemoteHost*>(tool.host.get());
    if (remote == nullptr) co_return std::nullopt;
    Route route = remote->route();
    route.tool = tool.unique_name;
    route.streams = tool.spec.streams;
    route.tenant = std::move(found.tenant);
    co_return route;
}

}  // namespace crab::fleet
