#include "admin/all_tools.hpp"

#include "core/policy/policy.hpp"

namespace crab::admin {
namespace {

core::PrincipalRef make_operator() {
    auto made = std::make_shared<core::Principal>();
    made->id = "local/admin";
    made->roles = {core::Role::kOperator};
    return made;
}

}  // namespace

AllTools::AllTools(const Published<core::RegistrySnapshot>& registry)
    : registry_(registry),
      allows_all_(core::Policy::make({}).value()),
      operator_(make_operator()) {}

core::View AllTools::view() const {
    return {.principal = operator_.get(),
            .policy = allows_all_.get(),
            .tenant = {},
            .prefer_source = {},
            .prefer = {}};
}

std::vector<core::RegistrySnapshot::Listed> AllTools::list(std::string_view after,
                                                           std::size_t limit) const {
    return registry_.get()->list(view(), after, limit);
}

Result<core::ToolRef> AllTools::resolve(std::string_view name) const {
    return registry_.get()->resolve(view(), name);
}

}  // namespace crab::admin
