#pragma once

#include "base/result.hpp"
#include "store/postgres/connection.hpp"

#include <span>
#include <string_view>

namespace crab::store::postgres {

/// The files `schema/NNN.sql`, 001 first. A published one is never edited.
std::span<const std::string_view> schema_steps();

/// Brings the database to the schema of `steps`, in one transaction: whoever comes meanwhile waits.
/// A database without a schema becomes that of the fleet. Errors: kConflict for the database of
/// another fleet; kInternal for a newer schema.
Result<void> migrate(Connection& database, std::string_view fleet,
                     std::span<const std::string_view> steps = schema_steps());

}  // namespace crab::store::postgres
