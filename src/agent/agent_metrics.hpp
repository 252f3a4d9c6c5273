#pragma once

#include "core/audit/metrics.hpp"

namespace crab::agent {

/// Counters of one event loop's turns; written by that loop, read by any thread.
struct AgentMetrics {
    core::Counter turns;            ///< started
    core::Counter failed_turns;     ///< ended by an error other than a cancellation
    core::Counter model_requests;   ///< answered or not, without retries
    core::Counter fallbacks;  ///< requests to another model than the first of an agent's order
    core::Counter tool_calls;  ///< executed, without those refused by the loop
    core::Counter searched_turns;  ///< whose model was offered find_tools instead of everything
    core::Counter input_tokens;  ///< as vendors count them
    core::Counter output_tokens;
};

}  // namespace crab::agent
