#pragma once

#include <cstddef>

namespace crab {

/// Memory for coroutine frames: each thread keeps the frames it gave back, by size, at most 8 MiB,
/// and hands them out again. A frame may be given back on another thread than the one that took it.
/// Under AddressSanitizer every frame comes from the heap, so that the use of a dead one is found.
class FramePool {
public:
    static void* take(std::size_t size);
    static void give(void* frame, std::size_t size) noexcept;
};

}  // namespace crab
