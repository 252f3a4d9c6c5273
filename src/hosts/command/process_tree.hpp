#pragma once

#include "base/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sys/types.h>

namespace crab::command {

/// What a process and all that descend from it use at one moment; of those that have ended, what
/// their parents have collected.
struct TreeUsage {
    std::chrono::microseconds cpu{0};  ///< user and system time
    std::uint64_t memory_bytes = 0;  ///< resident or in swap, shared pages counted once per process
    /// What the pipes that they have open can hold, which is in no process; 0 where nobody asked
    std::uint64_t pipe_bytes = 0;
    std::uint32_t processes = 0;
};

enum class WithPipes : std::uint8_t { kNo, kYes };

/// Reads /proc. Processes that come or go meanwhile may be missed; in a PID namespace whose first
/// process is `root`, nobody can leave the tree.
TreeUsage look_at_tree(pid_t root, WithPipes with_pipes = WithPipes::kNo);

/// What bubblewrap becomes in a sandbox of ours, as it is named there.
inline constexpr std::string_view kInitInside = "/run/crab/sandbox-init";
/// Ends what waits for ever since its bubblewrap was killed, with its gateway, before it could tell
/// it to begin. Returns how many.
std::size_t end_orphaned_sandboxes();

/// How many tasks, threads counted, run as this user; for RLIMIT_NPROC, which counts them all.
std::uint32_t tasks_of_this_user();

}  // namespace crab::command
