#pragma once

#include <cstddef>

namespace crab {

/// Has the allocator map blocks of 1 MiB and more by themselves, so that they go back to the system when they are freed. Left alone,
/// glibc raises that size to 32 MiB after the first large block (mallopt(3), M_MMAP_THRESHOLD) and large blocks leave holes that no
/// trim closes. For a program's start, before other threads.
void map_large_blocks();

/// Gives back to the system what the allocator keeps of memory that is free again: after a burst a process would stay as large as it
/// was then. Looks at little and does nothing unless much is kept. One at a time uses it.
class MemoryTrim {
public:
    /// Call it now and then, where a pause of some milliseconds holds nobody up. True: something was given back.
    bool run();

private:
    std::size_t left_ = 0;   ///< resident and not in use when it was last looked at: what cannot be given back
};

}  // namespace crab
