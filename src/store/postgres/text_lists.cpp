#include "store/postgres/text_lists.hpp"

#include <string>

namespace crab::store::postgres {

std::vector<TenantId> tenants_of(std::string_view lines) {
    std::vector<TenantId> tenants;
    while (!lines.empty()) {
        const std::size_t end = lines.find('\n');
        tenants.emplace_back(std::string(lines.substr(0, end)));
        lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    }
    return tenants;
}

Array array_of(const std::vector<TenantId>& tenants) {
    Array array;
    for (const TenantId& tenant : tenants) array.add(tenant.text());
    return array;
}

}  // namespace crab::store::postgres
