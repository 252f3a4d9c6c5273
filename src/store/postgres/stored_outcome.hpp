#pragma once

#include "core/call/tool_result.hpp"
#include "store/postgres/parameters.hpp"
#include "store/postgres/rows.hpp"

#include <memory>
#include <string_view>

namespace crab::store::postgres {

/// `kind` of a row of call_end that is no outcome.
inline constexpr int kReleased = 10;
inline constexpr int kTakenOver = 11;

/// The columns of call_end that say how a call ended, in this order.
inline constexpr std::string_view kOutcomeColumns =
    "code, kind, first, second, logs, retryable, retry_after_ms, usage";
/// They as they are selected from `e`.
inline constexpr std::string_view kSelectOutcome =
    "e.code, e.kind, e.first, e.second, e.logs, e.retryable, e.retry_after_ms, e.usage[1], "
    "e.usage[2], e.usage[3]";

/// Outcomes by column, for unnest().
struct OutcomeArrays {
    Array codes, kinds, firsts, seconds, logs, retryable, retry_after, cpu, wall, memory;
    void add(const core::Outcome& outcome);
};

/// Reads one from the columns of kSelectOutcome, from `column` on. A code of a newer program reads
/// as kInternal.
std::shared_ptr<const core::Outcome> read_outcome(const Rows::Row& row, int column);

}  // namespace crab::store::postgres
