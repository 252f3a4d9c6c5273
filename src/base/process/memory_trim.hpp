#pragma once

#include <cstddef>

namespace crab {

/// Returns free memory from the allocator to the system, so that a process shrinks after a burst.
/// Cheap unless much memory is free. Not thread-safe.
class MemoryTrim {
public:
    /// Call it periodically, where a pause of some milliseconds is harmless. True: memory was
    /// returned.
    bool run();

private:
    /// Resident but unused after the last run: memory that cannot be returned
    std::size_t left_ = 0;
};

}  // namespace crab
