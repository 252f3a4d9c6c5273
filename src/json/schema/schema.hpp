#pragma once

#include "base/result.hpp"
#include "json/element.hpp"
#include "json/schema/dialect.hpp"
#include "json/schema/schema_violation.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::json {

struct SchemaProgram;

struct SchemaOptions {
    Dialect dialect = Dialect::k2020_12;   ///< of documents that name no `$schema`
    bool assert_formats = false;           ///< check `format` instead of only noting it
    std::size_t max_bytes = std::size_t{1} << 20;  ///< of the schema and of each remote
    std::size_t max_depth = 128;           ///< of the schema's own nesting
    /// Of the compiled program, mainly patterns; checked while it grows
    std::size_t max_program_bytes = std::size_t{64} << 20;
    /// Set to the bytes used of `max_program_bytes`, even on failure
    std::size_t* spent = nullptr;
    /// Documents that `$ref` may lead to, text by URI without a fragment. Read during compile()
    /// only; nothing is ever fetched.
    const std::map<std::string, std::string>* remotes = nullptr;
};

/// A compiled JSON Schema of the dialects 2020-12, 2019-09, draft 7, 6 or 4 (`$schema` decides).
/// Immutable and thread-safe. Keywords without a meaning in the dialect are ignored; what is
/// checked and what is not: docs/reference/json_schema.md.
class Schema {
public:
    /// Errors: kInvalidArgs with the schema pointer and the reason (not JSON, a keyword of the
    /// wrong type, a bad pattern, a `$ref` that does not resolve, an unknown dialect); kOversize
    /// above `max_bytes` or `max_program_bytes`, or when it has too many subschemas.
    static Result<std::shared_ptr<const Schema>> compile(std::string_view text,
                                                         const SchemaOptions& options = {});

    ~Schema();
    Schema(const Schema&) = delete;
    Schema& operator=(const Schema&) = delete;

    /// Whether the instance is valid. Stops at the first violation and allocates nothing for
    /// ordinary sizes. A schema that refers to itself without end, or costs too many steps for this
    /// instance (about 100,000, and some for each of its values), counts as violated.
    bool is_valid(Element instance) const;
    /// The violations of the instance, in document order, at most `max_errors`; empty when it is
    /// valid.
    std::vector<SchemaViolation> validate(Element instance, std::size_t max_errors = 16) const;
    /// is_valid(), then validate() if it is not; an instance that is too costly is not checked
    /// twice.
    std::vector<SchemaViolation> check(Element instance, std::size_t max_errors = 16) const;

    /// Approximate memory use.
    std::size_t program_bytes() const;
    /// Whether it may accept an object. False is certain, true is not.
    bool may_accept_objects() const;

private:
    explicit Schema(std::unique_ptr<const SchemaProgram> program);
    std::unique_ptr<const SchemaProgram> program_;
};

}  // namespace crab::json
