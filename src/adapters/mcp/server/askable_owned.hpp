#pragma once

#include "adapters/mcp/server/askable_calls.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace crab::mcp {

/// A request that outlives its POST, and what it asks to be run.
struct AskableCalls::Owned {
    explicit Owned(const ClientRequest& of, std::string_view text)
        : params(std::make_shared<const std::string>(text)), request(of) {
        request.params = *params;
        request.meta = read_request_meta(*params);
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    const std::shared_ptr<const std::string> params;
    ClientRequest request;
    CallPlan plan;
    std::string call_id;  ///< empty: the pipeline makes one, for a call that is never repeated
    std::string resume;   ///< as LongCall::resumes
    bool again = false;   ///< taken up: its tool may be on its way still
};

}  // namespace crab::mcp
