#pragma once

#include <cstddef>

namespace crab {

/// Allocator for coroutine frames: each thread caches freed frames by size, at most 8 MiB. A frame
/// may be freed on another thread than the one that allocated it. Under AddressSanitizer every
/// frame comes from the heap, so that use after free is found.
class FramePool {
public:
    static void* take(std::size_t size);
    static void give(void* frame, std::size_t size) noexcept;
};

}  // namespace crab
