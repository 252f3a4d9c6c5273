#pragma once

#include <cstdint>

namespace crab {

/// What this process uses, as the kernel counts it; zero where it does not say.
struct ProcessStats {
    double cpu_seconds = 0;
    std::uint64_t resident_bytes = 0;
    std::uint64_t open_files = 0, most_files = 0;
};
/// Reads `/proc/self`; takes about as long as the process has open files.
ProcessStats read_process_stats();

}  // namespace crab
