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

/// What the schemas of tools that a peer offers may take in memory once they are compiled, which
/// bounds the time it takes, too: those that are refused have an allowance of their own, and behind
/// it none is compiled that takes more than kSmall.
struct SchemaBudget {
    static constexpr std::size_t kOneSchema = std::size_t{4} << 20;
    /// What comes in one frame, one answer
    static constexpr std::size_t kOneList = std::size_t{8} << 20;
    static constexpr std::size_t kSmall = std::size_t{64} << 10;
    std::size_t left = kOneList;
    std::size_t for_refused = kOneList;
    /// What the next schema may take.
    std::size_t most() const { return std::min({kOneSchema, left, std::max(for_refused, kSmall)}); }
};

/// make_tool() for what a peer offers: takes what its schemas cost from `budget`. Errors: as there;
/// kOversize for a schema that takes more than one may, or than is left.
Result<std::shared_ptr<Tool>> make_tool(ToolSpec spec, SchemaBudget& budget);

/// What the schemas of a tool cost.
std::size_t schema_bytes(const Tool& tool);

/// Compiles a schema, or finds the one that somebody holds already for the same text. Thread-safe.
/// Errors: those of Schema::compile(). `spent`, if given, gets what compiling it used of
/// `max_program_bytes`, also when it fails.
Result<std::shared_ptr<const json::Schema>> shared_schema(std::string_view text,
                                                          std::size_t max_program_bytes,
                                                          std::size_t* spent = nullptr);
/// How many different schemas are held at this moment.
std::size_t shared_schemas();

}  // namespace crab::core
