#pragma once

#include "hosts/command/command_talk.hpp"
#include "hosts/command/command_tool.hpp"
#include "hosts/command/disk_quota.hpp"
#include "hosts/command/egress.hpp"
#include "hosts/command/own_files.hpp"
#include "hosts/command/sandbox.hpp"

namespace crab::command {

/// One command to run, and what ends it.
struct CommandOrder {
    SandboxRequest request;
    std::string input;
    Errors errors = Errors::kLog;
    std::size_t max_output_bytes = 0;
    SteadyTime deadline = kNoDeadline;
    SteadyTime wall_deadline = kNoDeadline;
    int filter = -1;                     ///< of make_seccomp_filter(); outlives the run
    std::shared_ptr<Egress> egress;      ///< null: no way out; else `request.proxy` is set
    EgressUser user;                     ///< whose command it is
    std::shared_ptr<DiskQuota> quota;    ///< of a worktree that it may write in; null: none
    /// Hidden where the whole host is seen; nothing else that is shown may meet them. Null: none
    std::shared_ptr<const OwnFiles> own;
};

/// Runs a command in its sandbox, from its start until no process of it is left, on the calling
/// thread, which it blocks. Output goes to `talk`, which may hold it back and may ask for the end.
/// What ends it early is told by SIGTERM to its process group first, and by SIGKILL to all of its
/// PID namespace 2 s later. CPU, memory and processes are looked at every 50 ms. Nothing starts
/// when what it would be shown has come to contain crab's own files, or is no longer what the
/// gateway holds. The sandbox dies with this thread. Source: docs/protocols/sw4rm.md, sections 4
/// and 10.
CommandEnd run_command(const SandboxAbilities& abilities, const CommandOrder& order,
                       CommandTalk& talk);

}  // namespace crab::command
