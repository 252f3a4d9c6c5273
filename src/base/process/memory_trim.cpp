#include "base/process/memory_trim.hpp"

#include <algorithm>
#include <cstdio>

#include <malloc.h>
#include <unistd.h>

namespace crab {
namespace {

constexpr std::size_t kWorthIt = std::size_t{16} << 20;

std::size_t resident_bytes() {
    std::FILE* const file = std::fopen("/proc/self/statm", "re");
    if (file == nullptr) return 0;
    unsigned long size = 0, resident = 0;
    const bool read = std::fscanf(file, "%lu %lu", &size, &resident) == 2;
    std::fclose(file);
    return read ? resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

/// Resident, and not in use by anybody who asked the allocator for it: mostly free memory, and the
/// program itself.
std::size_t idle_bytes() {
    const auto known = ::mallinfo2();
    const std::size_t used = known.uordblks + known.hblkhd;
    const std::size_t resident = resident_bytes();
    return resident > used ? resident - used : 0;
}

}  // namespace

bool MemoryTrim::run() {
    const std::size_t idle = idle_bytes();
    const bool worth_it = idle > left_ + kWorthIt;
    if (worth_it) ::malloc_trim(0);
    left_ = worth_it ? idle_bytes() : std::min(left_, idle);
    return worth_it;
}

}  // namespace crab
