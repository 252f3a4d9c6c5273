#pragma once

#include <sys/types.h>

/// Process supervision of crab-sandbox-init where there is no PID namespace. Source:
/// docs/protocols/sw4rm.md, section 10.
namespace crab::sandbox {

/// Makes this process a child subreaper, drops all capabilities, and waits for a byte on `block`.
/// False with errno set when the kernel refuses, or when the other end of `block` is gone.
bool become_keeper(int block);

/// Kills and reaps every descendant of this process, the process group of `tool` first.
void end_descendants(pid_t tool);

}  // namespace crab::sandbox
