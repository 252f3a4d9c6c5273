#pragma once

#include "base/published.hpp"
#include "core/registry/registry.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace crab::admin {

/// The tools of the gateway as one sees them from whom no rule and no tenant hides any: for answers
/// about tools that others may not call. Thread-safe.
class AllTools {
public:
    explicit AllTools(const Published<core::RegistrySnapshot>& registry);

    /// Those after `after`, at most `limit`, in order of the names by which they can be called.
    std::vector<core::RegistrySnapshot::Listed> list(std::string_view after = {},
                                                     std::size_t limit = SIZE_MAX) const;
    /// Errors: those of RegistrySnapshot::resolve().
    Result<core::ToolRef> resolve(std::string_view name) const;

private:
    core::View view() const;

    const Published<core::RegistrySnapshot>& registry_;
    const std::shared_ptr<const core::Policy> allows_all_;
    const core::PrincipalRef operator_;
};

}  // namespace crab::admin
