#pragma once

/// What runs between bubblewrap and a tool: process 1 of the tool's PID namespace. Depends on std
/// and Linux only, so that it is also a small static program, crab-sandbox-init. Source:
/// docs/protocols/sw4rm.md, section 10.
namespace crab::sandbox {

/// `--status FD --control FD --filter FD --memory BYTES --processes N --cpu SECONDS --file-size
/// BYTES [--landlock] [--no-network] [--proxy FD --proxy-port N] [--wait] [--bare --block FD
/// --chdir PATH] [--read PATH]... [--write PATH]... [--expect DEVICE INODE PATH]... -- PROGRAM
/// ARGUMENT...`: makes sure that each PATH is what is expected, sends a listening socket, if a
/// proxy is wanted, forks, and in the child sets rlimits, Landlock and the seccomp filter that the
/// filter descriptor holds, in this order, then executes the program in a session of its own,
/// without a terminal. With
/// `--wait` it begins at `G` on the control descriptor. `T` on the control descriptor is a SIGTERM
/// for that group; `K` and its end are the end of everything. With `--bare` there are no namespaces
/// (subreaper.hpp). The status descriptor gets ToolRecords (hosts/command/init/tool_record.hpp).
/// `--supervise --file PATH --status FD --control FD -- WORD...` is no sandbox: it executes PATH
/// with the rights that it has itself, in a session of its own, and ends everything below it when
/// the program or the gateway ends, or at `K`. Returns the exit status.
int run_sandbox_init(int argc, char** argv);

}  // namespace crab::sandbox
