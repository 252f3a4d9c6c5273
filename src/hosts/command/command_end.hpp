#pragma once

#include "base/clock.hpp"

#include <cstdint>
#include <string>

namespace crab::command {

/// Why a command ended.
enum class EndReason : std::uint8_t {
    kExited,       ///< by itself
    kDeadline,
    kWallBudget,
    kCpuBudget,
    kCancelled,
    kMemory,
    kProcesses,
    kOutput,
    kDisk,   ///< it passed a limit of the sandbox
    kNotStarted,   ///< `failure` says why
};

/// The end of a command. None of its processes is left.
struct CommandEnd {
    EndReason reason = EndReason::kExited;
    int status = 0;                    ///< of exit(), or 128 plus the signal
    std::string failure;
    std::string error_tail;            ///< the end of standard error
    Milliseconds cpu{0}, wall{0};
    std::uint64_t peak_memory_bytes = 0;
    std::uint64_t output_bytes = 0;
};

}  // namespace crab::command
