#pragma once

#include "base/task/task.hpp"
#include "core/call/admitted_call.hpp"
#include "core/call/frame_sink.hpp"
#include "core/ledger/ledger.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace crab::core {

/// How a call ended.
struct CallEnd {
    std::shared_ptr<const Outcome> outcome;  ///< never null
    std::chrono::nanoseconds duration{0};  ///< from arrival; of the first call when replayed
    bool replayed = false;
    ToolRef tool;  ///< null when the name did not resolve
    /// The applied policy; null when the tool has no PolicyLimits
    std::shared_ptr<const EffectivePolicy> policy;
    std::uint32_t attempts = 0;  ///< number of dispatches
    std::string approval_id;  ///< of its approval request, if there was one
    std::string cancelled_by;  ///< the principal that cancelled it by id; may be empty
};

/// Runs calls, wherever their tools are: what fronts hand them to. One per event loop, used on that
/// loop only. In one gateway it is the Pipeline; in a fleet it may forward a call to the node that
/// has the tool (docs/decisions/0026).
class CallRunner {
public:
    virtual ~CallRunner() = default;
    /// Runs one call to its end; `call` and what it views must live until then. Sets `call.id` if
    /// it was empty. Cancelling the coroutine (caller gone, cancelled by id) cancels the call; the
    /// cancellation is cleared here, so that the front can continue. Never throws because of the
    /// call. `repeats`: whether repeats wait for its outcome or get kAlreadyInProgress.
    virtual Task<CallEnd> run(AuthenticatedCall call, FrameSink& sink, WhileRunning repeats) = 0;
    Task<CallEnd> run(AuthenticatedCall call, FrameSink& sink) {
        return run(call, sink, WhileRunning::kJoin);
    }
};

}  // namespace crab::core
