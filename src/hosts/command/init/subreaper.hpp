#pragma once

#include <sys/types.h>

/// Process supervision of crab-sandbox-init where there is no PID namespace. Source:
/// docs/protocols/sw4rm.md, section 10.
namespace crab::sandbox {

/// Makes this process a child subreaper, drops all capabilities, and waits for a byte on `block`.
/// False with errno set when the kernel refuses, or when the other end of `block` is gone.
bool become_subreaper(int block);

/// The same with all rights of its starter, and without waiting: for programs that are only
/// supervised. The end of its starter no longer kills it, for then it has others to end.
bool become_supervisor();

/// Kills and reaps every descendant of this process, the process group of `tool` first. With a
/// limit, in milliseconds, it gives up on those that it may not kill.
void end_descendants(pid_t tool, int limit = 0);

}  // namespace crab::sandbox
