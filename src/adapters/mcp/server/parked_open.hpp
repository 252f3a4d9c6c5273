#pragma once

#include "adapters/mcp/server/client_questions.hpp"
#include "adapters/mcp/server/parked_call.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace crab::mcp {

/// A question without an answer. `answer` is guarded by the mutex of the call.
struct ParkedCall::Open {
    Open(core::Question::Kind of, std::string with) : kind(of), check(of, std::move(with)) {}
    const core::Question::Kind kind;
    AnswerCheck check;
    std::string key, method;
    std::shared_ptr<RemoteWaiter> waiter;
    bool presented = false;
    std::optional<Result<std::string>> answer;

    void settle(Result<std::string> with) {
        answer = std::move(with);
        waiter->wake();
    }
};

}  // namespace crab::mcp
