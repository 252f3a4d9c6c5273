#pragma once

#include "base/result.hpp"

#include <span>
#include <string>
#include <vector>

namespace crab::trust {

/// One tool name of a device, and whether it needs approval.
struct DeviceToolRecord {
    std::string device, tool;
    bool waiting = false;
    friend bool operator==(const DeviceToolRecord&, const DeviceToolRecord&) = default;
};

/// Store of the tool names of devices. Every function may block and is atomic. `DeviceTools` calls
/// one at a time. Errors: kUnavailable (disk full, busy, I/O), kInternal.
class DeviceToolStore {
public:
    virtual ~DeviceToolStore() = default;
    virtual Result<std::vector<DeviceToolRecord>> load() = 0;
    /// Adds these, or changes those that are there.
    virtual Result<void> put(std::span<const DeviceToolRecord> records) = 0;
};

}  // namespace crab::trust
