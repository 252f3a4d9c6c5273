#pragma once

#include "base/result.hpp"
#include "core/call/tool.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>

namespace crab::json {
class Schema;
}

namespace crab::core {

/// Memory budget for compiled schemas of a peer's tools, which also bounds compile time. Refused
/// schemas have a separate allowance; beyond it only schemas up to kSmall are compiled.
struct SchemaBudget {
    static constexpr std::size_t kOneSchema = std::size_t{4} << 20;
    /// For the schemas of one frame or answer
    static constexpr std::size_t kOneList = std::size_t{8} << 20;
    static constexpr std::size_t kSmall = std::size_t{64} << 10;
    std::size_t left = kOneList;
    std::size_t for_refused = kOneList;
    /// Limit for the next schema.
    std::size_t most() const { return std::min({kOneSchema, left, std::max(for_refused, kSmall)}); }
};

/// make_tool() for a peer's tool, charged to `budget`. Errors: as there; kOversize for a schema
/// above the limit or the rest of the budget.
Result<std::shared_ptr<Tool>> make_tool(ToolSpec spec, SchemaBudget& budget);

/// The size of a tool's compiled schemas.
std::size_t schema_bytes(const Tool& tool);

/// Compiles a schema, or returns the existing one for the same text. Thread-safe. Errors: those of
/// Schema::compile(). `spent`, if given, is set to the bytes used of `max_program_bytes`, even on
/// failure.
Result<std::shared_ptr<const json::Schema>> shared_schema(std::string_view text,
                                                          std::size_t max_program_bytes,
                                                          std::size_t* spent = nullptr);
/// The number of distinct live schemas.
std::size_t shared_schemas();

}  // namespace crab::core
