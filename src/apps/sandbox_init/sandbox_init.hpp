#pragma once

#include <cstdint>

/// What runs between bubblewrap and a tool: process 1 of the tool's PID namespace. It needs std and Linux only, so that it is
/// also a small static program, crab-sandbox-init. Source: docs/protocols/sw4rm.md, section 10.
namespace crab::sandbox {

/// The one record on the status descriptor: how the tool ended, or why it never began.
struct ToolEnd {
    enum class Kind : std::uint32_t { kExited = 1, kNotStarted = 2 };
    Kind kind = Kind::kExited;
    std::int32_t status = 0;          ///< of exit(), or 128 plus the signal; for kNotStarted an errno
    std::int64_t cpu_us = 0;          ///< user and system time of all processes that were waited for
    std::int64_t peak_memory_kib = 0; ///< of the largest of them
};

/// `--status FD --control FD --filter FD --memory BYTES --processes N --cpu SECONDS --file-size BYTES [--landlock]
/// [--no-network] [--write PATH]... [--proxy FD] -- PROGRAM ARGUMENT...`: forks, and in the child sets rlimits, Landlock and
/// the seccomp filter that the filter descriptor holds, in this order, then executes the program in a process group of its
/// own. A byte on the control descriptor is a SIGTERM for that group; its end is the end of everything. Returns the exit status.
int run_sandbox_init(int argc, char** argv);

}  // namespace crab::sandbox
