#pragma once

#include "store/postgres/connection.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace crab::store::postgres {

/// Writes down by which names node `self` calls its keys, the one that signs first. Errors: those
/// of Connection; kConflict when a node that runs would not accept its messages, or the other way
/// round. A node whose process is gone is not asked.
Result<void> agree_on_keys(Connection& database, std::int16_t self,
                           std::span<const std::string> names);

}  // namespace crab::store::postgres
