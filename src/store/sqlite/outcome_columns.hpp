#pragma once

#include "core/call/tool_result.hpp"
#include "store/sqlite/statement.hpp"

#include <memory>
#include <string_view>

namespace crab::store::sqlite {

/// The columns that say how a call ended, in this order. `code` is NULL for a success, else the
/// error's token; `first` and `second` are content and content type, or message and details.
inline constexpr std::string_view kOutcomeColumns =
    "code, kind, first, second, logs, retryable, retry_after_ms, cpu_ms, wall_ms, peak_memory";
inline constexpr int kOutcomeColumnCount = 10;

/// Binds `outcome` to the parameters from `index` on.
void bind_outcome(Statement& statement, int index, const core::Outcome& outcome);
/// Reads it from the columns from `column` on. A code of a newer program reads as kInternal.
std::shared_ptr<const core::Outcome> read_outcome(const Statement& statement, int column);

}  // namespace crab::store::sqlite
