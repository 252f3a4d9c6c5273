#pragma once

#include <cstdint>

namespace crab::command {

/// What crab-sandbox-init (hosts/command/init) writes on its status descriptor: how the tool ended,
/// or why it did not start. Std only.
struct ToolRecord {
    /// kWaiting: for its network
    enum class Kind : std::uint32_t { kExited = 1, kNotStarted = 2, kWaiting = 3 };
    Kind kind = Kind::kExited;
    std::int32_t status = 0;  ///< of exit(), or 128 plus the signal; for kNotStarted an errno
    std::int64_t cpu_us = 0;  ///< user and system time of all processes that were waited for
    std::int64_t peak_memory_kib = 0;  ///< of the largest of them
};

}  // namespace crab::command
