#pragma once

#include <cstddef>

namespace crab {

/// Gives back to the system what the allocator keeps of memory that is free again: after a burst a
/// process would stay as large as it was then. Looks at little and does nothing unless much is
/// kept. One at a time uses it.
class MemoryTrim {
public:
    /// Call it now and then, where a pause of some milliseconds holds nobody up. True: something
    /// was given back.
    bool run();

private:
    /// Resident and not in use when it was last looked at: what cannot be given back
    std::size_t left_ = 0;
};

}  // namespace crab
