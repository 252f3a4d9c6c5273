#pragma once

#include <sys/types.h>

/// What crab-sandbox-init does itself where no PID namespace does it. Source:
/// docs/protocols/sw4rm.md, section 10.
namespace crab::sandbox {

/// Makes this process the parent of whoever loses its own among its descendants, takes every
/// capability from it and them, and waits for a byte on `block`. False with errno set when the
/// kernel refuses, or when the other end of `block` is gone.
bool become_keeper(int block);

/// Ends every descendant of this process and reaps them; the group of `tool` first, which goes at
/// once.
void end_descendants(pid_t tool);

}  // namespace crab::sandbox
