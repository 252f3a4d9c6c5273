#pragma once

#include "gateway/context/gateway_context.hpp"
#include "gateway/devices/device_fronts.hpp"
#include "gateway/fleet/fleet_node.hpp"
#include "runtime/call_path.hpp"

namespace crab::gateway {

/// Running calls and turns. Last in the list, so that they finish or are cancelled before their
/// connections are closed.
class RunningWork final : public Component {
public:
    RunningWork(CallPath& calls, DeviceFronts& devices, FleetNode& fleet)
        : calls_(calls), devices_(devices), fleet_(fleet) {}

    std::string_view name() const override { return "running work"; }
    Result<void> start() override { return {}; }
    Milliseconds stop_limit() const override { return kCalls + kChats; }
    /// Source: docs/protocols/rtp.md, section 3, "Stopping".
    void stop(Deadline deadline) override;

private:
    static constexpr std::chrono::seconds kCalls{10}, kChats{5};

    CallPath& calls_;
    DeviceFronts& devices_;
    FleetNode& fleet_;
};

}  // namespace crab::gateway
