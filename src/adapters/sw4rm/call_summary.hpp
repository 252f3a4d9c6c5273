#pragma once

#include "core/pipeline/pipeline.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::sw4rm {

/// The summary of a final frame, a JSON object (docs/protocols/sw4rm.md, section 3); members
/// without a value are left out.
struct SummaryFacts {
    const core::CallEnd& end;
    std::string_view status;      ///< `ok` or `cancelled`
    std::uint64_t frames = 1;     ///< the final one included
    std::uint64_t bytes = 0;
    bool partial_result = false;
};
std::string call_summary(const SummaryFacts& facts);

}  // namespace crab::sw4rm
