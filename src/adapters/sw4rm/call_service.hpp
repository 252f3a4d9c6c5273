#pragma once

#include "adapters/sw4rm/frame_writer.hpp"
#include "adapters/sw4rm/rpc.hpp"
#include "core/call/cancel_answer.hpp"
#include "core/pipeline/pipeline.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace crab::sw4rm {

/// `sw4rm.tool.ToolService`: Call, CallStream and Cancel (docs/protocols/sw4rm.md, sections 3, 5
/// and 6). One per event loop.
class CallService {
public:
    /// Cancels the principal's own call of that id, or for operators any call, wherever in the
    /// gateway it runs.
    using Cancel =
        std::function<core::CancelAnswer(const core::Principal& asker, std::string_view call_id)>;

    CallService(core::Pipeline& pipeline, core::CallRunner& calls, Cancel cancel)
        : pipeline_(pipeline), runner_(calls), cancel_(std::move(cancel)) {}

    Task<void> call(Rpc rpc, core::PrincipalRef principal);
    Task<void> call_stream(Rpc rpc, core::PrincipalRef principal);
    Task<void> cancel(Rpc rpc, core::PrincipalRef principal);
    /// Calls that are cancelled from now on are reported as ended by the gateway's shutdown.
    void drain() { draining_ = true; }

private:
    struct Request;
    bool prepare(Rpc& rpc, std::string_view message, const core::Principal& principal,
                 Request& request);
    static void fail(Rpc& rpc, const Request& request, const Error& error);
    void fail(Rpc& rpc, const Request& request, const core::CallEnd& end) const;

    core::Pipeline& pipeline_;
    core::CallRunner& runner_;
    Cancel cancel_;
    bool draining_ = false;
};

}  // namespace crab::sw4rm
