#pragma once

#include "base/published.hpp"
#include "core/pipeline/call_services.hpp"
#include "core/registry/registry.hpp"
#include "fleet/directory.hpp"

namespace crab::fleet {

/// Finds tools of other nodes where Catalogue has put them: in this node's registry, by the names
/// and rules by which the pipeline finds those that are here. Used on one loop.
class RegistryDirectory final : public Directory {
public:
    RegistryDirectory(const Published<core::RegistrySnapshot>& registry,
                      const Published<core::CallRules>& rules)
        : registry_(registry), rules_(rules) {}

    Task<std::optional<Route>> find(const core::Call& call,
                                    const core::Principal& principal) override;

private:
    Published<core::RegistrySnapshot>::Reader registry_;
    Published<core::CallRules>::Reader rules_;
};

}  // namespace crab::fleet
