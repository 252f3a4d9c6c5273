#pragma once

#include "base/result.hpp"

#include <span>
#include <string>
#include <vector>

namespace crab::trust {

/// One tool name of a device, and whether it needs approval. A form is what an operator approves
/// (tool_form.hpp): its text, or `sha256:` and the digest of one that is too long to keep.
struct DeviceToolRecord {
    std::string device, tool;
    bool waiting = false;
    std::string approved{};  ///< the form that was let in; empty: none, or not known
    std::string offered{};   ///< the form that waits; empty: none, or not known
    friend bool operator==(const DeviceToolRecord&, const DeviceToolRecord&) = default;
};

/// Store of the tools of devices. Every function may block and is atomic. `DeviceTools` calls
/// one at a time. Errors: kUnavailable (disk full, busy, I/O), kInternal.
class DeviceToolStore {
public:
    virtual ~DeviceToolStore() = default;
    virtual Result<std::vector<DeviceToolRecord>> load() = 0;
    /// Adds these, or changes those that are there.
    virtual Result<void> put(std::span<const DeviceToolRecord> records) = 0;
};

}  // namespace crab::trust
