#pragma once

#include "json/schema/schema_program.hpp"

namespace crab::json {

/// Whether the root may accept an object. Ignores rules about members: false is certain, true is
/// not.
bool may_accept_objects(const SchemaProgram& program);

}  // namespace crab::json
