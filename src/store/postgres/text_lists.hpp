#pragma once

#include "base/id.hpp"
#include "store/postgres/parameters.hpp"

#include <string_view>
#include <vector>

namespace crab::store::postgres {

/// Of a column that unnests to lines: names of tenants have no line breaks.
std::vector<TenantId> tenants_of(std::string_view lines);
Array array_of(const std::vector<TenantId>& tenants);

}  // namespace crab::store::postgres
