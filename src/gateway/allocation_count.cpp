// Counts heap allocations of the process when CRAB_COUNT_ALLOCATIONS=1 is set at the start: bench/
// divides them by calls. One predictable branch per allocation otherwise. Left out of sanitizer
// builds, which have allocators of their own.

#include "core/audit/metrics.hpp"
#include "gateway/devices/built_in_tools.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace crab::gateway {
namespace {

const bool counting = [] {
    const char* wanted = std::getenv("CRAB_COUNT_ALLOCATIONS");
    return wanted != nullptr && *wanted == '1';
}();
std::atomic<std::uint64_t> allocations{0};

}  // namespace

void append_allocation_metric(std::string& out) {
    if (counting)
        core::append_metric(out, "crab_allocations_total", "counter",
                            "Heap allocations since the start.",
                            static_cast<double>(allocations.load()));
}

namespace {

[[maybe_unused]] void* allocate(std::size_t size) {
    if (counting) allocations.fetch_add(1, std::memory_order_relaxed);
    if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
    throw std::bad_alloc();
}

}  // namespace
}  // namespace crab::gateway

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
void* operator new(std::size_t size) { return crab::gateway::allocate(size); }
void* operator new[](std::size_t size) { return crab::gateway::allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
#endif
