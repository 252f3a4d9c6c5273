#pragma once

#include "base/task/task.hpp"
#include "core/call/admitted_call.hpp"
#include "core/call/frame_sink.hpp"
#include "core/call/tool_result.hpp"

#include <cstdint>
#include <string>

namespace crab::core {

/// Runs calls: a built-in, a device's session, a paired service. run() is awaited on the event loop
/// of the call's front.
class ToolHost {
public:
    virtual ~ToolHost() = default;
    /// Runs one call until it is answered or its deadline passes; cancelling the coroutine cancels
    /// the call at the host. Errors of transport: kUnavailable when the request was certainly not
    /// delivered, kOutcomeUnknown when it may have been; kTimeout, kCancelled; else the tool's own
    /// error. Hosts do not retry.
    virtual Task<Outcome> run(AdmittedCall call, FrameSink& sink) = 0;
    /// Names the process that would run a call, if it recognises a request that it has had by its
    /// id and runs none twice, also when another gateway of the fleet asks it again; 0: it does
    /// not. On any thread.
    virtual std::uint64_t process() const { return 0; }
    /// Where the call would run, for approvals: a worktree, for example. Empty: there is only one
    /// place. Errors: kUnavailable when that cannot be determined now.
    virtual Task<Result<std::string>> place_of(const Call& call, const Principal& principal) const {
        static_cast<void>(call), static_cast<void>(principal);
        co_return std::string();
    }
};

}  // namespace crab::core
