#pragma once

#include "base/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sys/types.h>

namespace crab::command {

/// Resource use of a process and its descendants; of ended ones, what their parents have reaped.
struct TreeUsage {
    std::chrono::microseconds cpu{0};  ///< user and system time
    std::uint64_t memory_bytes = 0;  ///< resident or in swap, shared pages counted once per process
    /// Capacity of their open pipes, which no process accounts for; 0 unless requested
    std::uint64_t pipe_bytes = 0;
    std::uint32_t processes = 0;
};

enum class WithPipes : std::uint8_t { kNo, kYes };

/// Reads /proc. Processes that come or go meanwhile may be missed; in a PID namespace whose first
/// process is `root`, nobody can leave the tree.
TreeUsage look_at_tree(pid_t root, WithPipes with_pipes = WithPipes::kNo);

/// The path of crab-sandbox-init inside a sandbox.
inline constexpr std::string_view kInitInside = "/run/crab/sandbox-init";
/// Kills sandboxes that wait forever because their gateway was killed before it started them.
/// Returns how many.
std::size_t end_orphaned_sandboxes();

/// The number of tasks (threads) of this user, which RLIMIT_NPROC counts.
std::uint32_t tasks_of_this_user();

}  // namespace crab::command
