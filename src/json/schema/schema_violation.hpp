#pragma once

#include <span>
#include <string>

namespace crab::json {

/// One way in which an instance breaks a schema.
struct SchemaViolation {
    /// RFC 6901; where in the instance. For a missing property: where it should be
    std::string instance_pointer;
    std::string schema_pointer;    ///< where in the schema; in another document `uri#pointer`
    std::string rule;              ///< the keyword, such as `maximum`
    /// A sentence to act on: `/limit: 500 is more than the maximum 100`; at most about 400 bytes
    std::string message;
};

/// The violations as a JSON array of objects with the members `pointer`, `schema`, `rule` and
/// `message`.
std::string to_json(std::span<const SchemaViolation> violations);

}  // namespace crab::json
