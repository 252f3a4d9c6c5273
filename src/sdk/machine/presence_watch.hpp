#pragma once

#include "sdk/machine/machine_facts.hpp"

#include "crab/device.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace crab::sdk {

/// Reports the state of this machine's batteries to the gateway during its lifetime. Does nothing
/// on a machine without any.
class PresenceWatch {
public:
    /// `device` outlives this.
    explicit PresenceWatch(Device& device, const MachineRoots& roots = {},
                           std::chrono::milliseconds every = std::chrono::minutes(1));

private:
    std::mutex mutex_;
    std::condition_variable_any stopped_;
    std::jthread thread_;  // last: it uses the others
};

}  // namespace crab::sdk
