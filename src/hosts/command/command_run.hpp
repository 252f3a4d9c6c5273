#pragma once

#include "hosts/command/command_channel.hpp"
#include "hosts/command/command_tool.hpp"
#include "hosts/command/disk_quota.hpp"
#include "hosts/command/egress.hpp"
#include "hosts/command/protected_files.hpp"
#include "hosts/command/sandbox.hpp"

namespace crab::command {

/// One command to run, with its limits.
struct CommandRequest {
    SandboxRequest request;
    std::string input;
    Errors errors = Errors::kLog;
    std::size_t max_output_bytes = 0;
    SteadyTime deadline = kNoDeadline;
    SteadyTime wall_deadline = kNoDeadline;
    int filter = -1;                     ///< of make_seccomp_filter(); outlives the run
    std::shared_ptr<Egress> egress;      ///< null: no egress; else `request.proxy` is set
    EgressUser user;                     ///< whose command it is
    std::shared_ptr<DiskQuota> quota;    ///< of a writable worktree; null: none
    /// Hidden when the whole host is visible; other bound files must not overlap them. Null: none
    std::shared_ptr<const ProtectedFiles> own;
};

/// Runs a command in its sandbox until all its processes have ended; blocks the calling thread.
/// Output goes to `talk`, which applies back-pressure and can stop the command. To end it early,
/// SIGTERM goes to its process group, and SIGKILL to its PID namespace 2 s later. CPU, memory and
/// processes are checked every 50 ms. Refuses to start when a bound file contains crab's own files
/// or has been replaced. The sandbox is killed when this thread ends. Source:
/// docs/protocols/sw4rm.md, sections 4 and 10.
CommandEnd run_command(const SandboxAbilities& abilities, const CommandRequest& order,
                       CommandChannel& talk);

}  // namespace crab::command
