#pragma once

#include "core/audit/metrics.hpp"

namespace crab::agent {

/// What one event loop counts about turns; that loop writes, anybody reads.
struct AgentMetrics {
    core::Counter turns;            ///< begun
    core::Counter failed_turns;     ///< ended by an error that was no cancellation
    core::Counter model_requests;   ///< answered or not, repeats not counted
    core::Counter fallbacks;  ///< requests to another model than the first of an agent's order
    core::Counter tool_calls;  ///< made, not those refused before
    core::Counter searched_turns;  ///< whose model was offered find_tools instead of everything
    core::Counter input_tokens;  ///< as vendors count them
    core::Counter output_tokens;
};

}  // namespace crab::agent
