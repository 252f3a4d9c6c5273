#pragma once

#include <vector>

namespace crab::sandbox {

/// Restricts this process and its children to reading and running what is in sight, and to writing beneath `writable`; with
/// `no_network` also to no TCP at all where the kernel can (ABI 4). Needs no_new_privs. False with errno set when the kernel
/// refuses; a kernel without Landlock refuses.
bool restrict_by_landlock(const std::vector<const char*>& writable, bool no_network);

}  // namespace crab::sandbox
