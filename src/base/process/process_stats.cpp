#include "base/process/process_stats.hpp"

#include "base/process/file.hpp"

#include <charconv>
#include <filesystem>
#include <iterator>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

namespace crab {
namespace {

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::uint64_t memory_in_use() {
    const auto text = read_file("/proc/self/statm", 4096);
    const std::size_t at = text ? text->find(' ') : std::string::npos;
    if (at == std::string::npos) return 0;
    std::uint64_t pages = 0;
    std::from_chars(text->data() + at + 1, text->data() + text->size(), pages);
    return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t count_open_files() {
    std::error_code none;
    const std::filesystem::directory_iterator all("/proc/self/fd", none);
    return none ? 0 : static_cast<std::uint64_t>(std::distance(begin(all), end(all)));
}

}  // namespace

ProcessStats read_process_stats() {
    ProcessStats stats{.resident_bytes = memory_in_use(), .open_files = count_open_files()};
    if (rusage used{}; ::getrusage(RUSAGE_SELF, &used) == 0)
        stats.cpu_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
    if (rlimit limit{}; ::getrlimit(RLIMIT_NOFILE, &limit) == 0) stats.most_files = limit.rlim_cur;
    return stats;
}

}  // namespace crab
