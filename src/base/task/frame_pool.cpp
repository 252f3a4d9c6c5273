#include "base/task/frame_pool.hpp"

#include <array>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define CRAB_FRAMES_FROM_HEAP 1
#endif
#endif

namespace crab {
namespace {

constexpr std::size_t kGrain = 64;
constexpr std::size_t kLargest = 8192;  // that of an MCP client's call is above 4096
constexpr std::size_t kMostKept = std::size_t{8} << 20;

struct Unused {
    Unused* next;
};

/// Trivially constructible, so that access needs no initialization guard; FrameReleaser cleans up.
struct Kept {
    std::array<Unused*, kLargest / kGrain> frames;
    std::size_t bytes;
    bool over;   ///< thread exit
};
constinit thread_local Kept kept{};

struct FrameReleaser {
    ~FrameReleaser() {
        kept.over = true;
        for (Unused*& first : kept.frames) {
            while (first != nullptr) {
                Unused* const frame = first;
                first = frame->next;
                ::operator delete(frame);
            }
        }
    }
    void touch() const {}
};
thread_local const FrameReleaser releaser;

constexpr std::size_t class_of(std::size_t size) { return (size - 1) / kGrain; }

}  // namespace

#ifdef CRAB_FRAMES_FROM_HEAP

void* FramePool::take(std::size_t size) { return ::operator new(size); }
void FramePool::give(void* frame, std::size_t) noexcept { ::operator delete(frame); }

#else

void* FramePool::take(std::size_t size) {
    if (size > kLargest) return ::operator new(size);
    Unused*& first = kept.frames[class_of(size)];
    if (first == nullptr) {
        releaser.touch();
        return ::operator new((class_of(size) + 1) * kGrain);
    }
    Unused* const frame = first;
    first = frame->next;
    kept.bytes -= (class_of(size) + 1) * kGrain;
    return frame;
}

void FramePool::give(void* frame, std::size_t size) noexcept {
    if (size > kLargest || kept.over || kept.bytes >= kMostKept) return ::operator delete(frame);
    Unused*& first = kept.frames[class_of(size)];
    first = ::new (frame) Unused{first};
    kept.bytes += (class_of(size) + 1) * kGrain;
}

#endif

}  // namespace crab
