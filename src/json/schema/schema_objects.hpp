#pragma once

#include "json/schema/schema_program.hpp"

namespace crab::json {

/// Whether the root may accept an object. What rules about members come to is not looked at: no is
/// certain, yes is not.
bool may_accept_objects(const SchemaProgram& program);

}  // namespace crab::json
