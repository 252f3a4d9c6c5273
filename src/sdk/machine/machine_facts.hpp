#pragma once

#include "base/result.hpp"

#include "crab/device.hpp"

#include <cstddef>
#include <filesystem>
#include <string>

namespace crab::sdk {

/// Where the kernel shows itself; tests give folders of their own.
struct MachineRoots {
    std::filesystem::path proc = "/proc";
    std::filesystem::path sys = "/sys";
    std::filesystem::path etc = "/etc";
};

/// What this machine says about itself, each as one JSON object. They read and change nothing.
class MachineFacts {
public:
    explicit MachineFacts(MachineRoots roots = {}) : roots_(std::move(roots)) {}

    /// {hostname, os, kernel, architecture, cpus, memory: {total_bytes, available_bytes},
    /// uptime_seconds}
    std::string device_info() const;
    bool has_battery() const;
    /// {batteries: [{name, percent?, status?}]}
    std::string battery() const;
    /// The charge of all batteries together, and whether one is being charged; nothing else is
    /// known here.
    DevicePresence presence() const;
    /// {path, total_bytes, used_bytes, available_bytes, used_percent}. Errors: kInvalidArgs for a
    /// path that cannot be looked at.
    Result<std::string> disk_usage(const std::string& path) const;
    /// {interfaces: [{name, up, loopback, addresses: [{family, address}]}]}
    std::string network_interfaces() const;
    /// {total, processes: [{pid, name, state, memory_bytes}]}: those whose name holds `name`, the
    /// largest first, at most `limit`; `total` counts all that match. Command lines are left out:
    /// they may hold secrets.
    std::string processes(const std::string& name, std::size_t limit) const;

private:
    MachineRoots roots_;
};

}  // namespace crab::sdk
