#pragma once

#include "core/call/tool_host.hpp"
#include "fleet/directory.hpp"

#include <utility>

namespace crab::fleet {

/// Stands for a device at another node in this node's registry: it says where to forward calls, and
/// runs none.
class RemoteHost final : public core::ToolHost {
public:
    /// `route` without a tool.
    explicit RemoteHost(Route route) : route_(std::move(route)) {}

    const Route& route() const { return route_; }

    /// A call that was forwarded here for a link that has just moved on: nothing was sent.
    Task<core::Outcome> run(core::AdmittedCall, core::FrameSink&) override {
        co_return fail(ErrorCode::kUnavailable,
                       "the device is at another gateway of the fleet by now, so the call was not "
                       "run; call again");
    }

private:
    const Route route_;
};

}  // namespace crab::fleet
