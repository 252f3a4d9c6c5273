#include "hosts/command/process_tree.hpp"

#include "base/descriptor.hpp"
#include "base/process/child.hpp"

#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::command {
namespace {

constexpr std::size_t kMostTracked = 4096;
constexpr std::string_view kBubblewrap = "bwrap\n";

/// The begin of a file of /proc, at most 16 KiB; empty when it is gone.
std::string read_proc_file(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) return {};
    std::string text(16 * 1024, '\0');
    const ssize_t got = ::read(file.get(), text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

/// The next whole number of `text`, which begins after it then; 0 at the end.
std::int64_t next_number(std::string_view& text) {
    const std::size_t at = text.find_first_of("-0123456789");
    if (at == text.npos) {
        text = {};
        return 0;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    text.remove_prefix(error == std::errc() ? static_cast<std::size_t>(end - text.data()) : at + 1);
    return number;
}

/// What a process has in swap: memory that no longer counts as resident.
std::uint64_t swapped_bytes(pid_t pid) {
    static const bool has_swap = [] {
        struct sysinfo machine{};
        return ::sysinfo(&machine) != 0 || machine.totalswap > 0;
    }();
    if (!has_swap) return 0;
    const std::string status = read_proc_file(fmt::format("/proc/{}/status", pid));
    const std::size_t at = status.find("VmSwap:");
    if (at == status.npos) return 0;
    std::string_view rest = std::string_view(status).substr(at);
    return static_cast<std::uint64_t>(next_number(rest)) * 1024;
}

/// The time that the threads of a process have run. /proc/<pid>/stat says it in ticks of 10 ms, too
/// coarse for small budgets.
std::chrono::nanoseconds own_cpu(pid_t pid) {
    clockid_t clock{};
    timespec used{};
    if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return {};
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

/// Fields 16 and 17 of /proc/<pid>/stat are the times of collected children in ticks, field 24 are
/// resident pages (proc(5)).
void add_process(pid_t pid, TreeUsage& usage) {
    static const long ticks = ::sysconf(_SC_CLK_TCK), page = ::sysconf(_SC_PAGESIZE);
    const std::string stat = read_proc_file(fmt::format("/proc/{}/stat", pid));
    const std::size_t name_end = stat.rfind(')');
    if (name_end == stat.npos || name_end + 4 > stat.size()) return;
    // after the state: field 4 is next
    std::string_view rest = std::string_view(stat).substr(name_end + 4);
    std::array<std::int64_t, 25> field{};
    for (std::size_t number = 4; number < field.size(); ++number) field[number] = next_number(rest);
    usage.cpu += std::chrono::duration_cast<std::chrono::microseconds>(own_cpu(pid)) +
                 std::chrono::microseconds((field[16] + field[17]) * 1'000'000 / ticks);
    usage.memory_bytes += static_cast<std::uint64_t>(field[24] * page) + swapped_bytes(pid);
    ++usage.processes;
}

void add_children(pid_t pid, std::vector<pid_t>& all) {
    const std::string tasks = fmt::format("/proc/{}/task", pid);
    DIR* const folder = ::opendir(tasks.c_str());
    if (folder == nullptr) return;
    while (const dirent* entry = ::readdir(folder)) {
        if (entry->d_name[0] == '.') continue;
        const std::string children =
            read_proc_file(fmt::format("{}/{}/children", tasks, entry->d_name));
        for (std::string_view rest = children; all.size() < kMostTracked;) {
            const auto child = static_cast<pid_t>(next_number(rest));
            if (child <= 0) break;
            all.push_back(child);
        }
    }
    ::closedir(folder);
}

/// The pipes, with and without a name, of which a tree of processes has an end.
class Pipes {
public:
    void add_ends_of(pid_t pid) {
        DIR* const folder = ::opendir(fmt::format("/proc/{}/fd", pid).c_str());
        if (folder == nullptr) return;
        while (const dirent* entry = ::readdir(folder)) {
            if (entry->d_name[0] != '.') add(::dirfd(folder), entry->d_name);
        }
        ::closedir(folder);
    }
    std::uint64_t bytes() const { return (seen_.size() * 2 + not_looked_at_) * kBytes / 2; }

private:
    // of each; the filter lets none be made larger
    static constexpr std::uint64_t kBytes = 64 * 1024;
    // descriptors beyond count as one end of a pipe each
    static constexpr std::size_t kMostLooks = 4096;

    void add(int folder, const char* descriptor) {
        if (++looks_ > kMostLooks) {
            ++not_looked_at_;
            return;
        }
        struct statx about{};  // as far as it is known here: a file of a network's is not asked for
        if (::statx(folder, descriptor, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &about) != 0 ||
            !S_ISFIFO(about.stx_mode))
            return;
        seen_.emplace(about.stx_dev_major, about.stx_dev_minor, about.stx_ino);
    }

    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>> seen_;
    std::size_t looks_ = 0, not_looked_at_ = 0;
};

}  // namespace

TreeUsage look_at_tree(pid_t root, WithPipes with_pipes) {
    TreeUsage usage;
    Pipes pipes;
    std::vector<pid_t> all{root};
    for (std::size_t i = 0; i < all.size(); ++i) {
        add_process(all[i], usage);
        if (with_pipes == WithPipes::kYes) pipes.add_ends_of(all[i]);
        add_children(all[i], all);
    }
    usage.pipe_bytes = pipes.bytes();
    return usage;
}

namespace {

/// A first process of a namespace that is bubblewrap still, with our program to become, and has
/// another parent than bubblewrap.
bool is_orphaned_sandbox(const std::string& folder) {
    if (read_proc_file(folder + "/comm") != kBubblewrap) return false;
    const std::string words = read_proc_file(folder + "/cmdline"),
                      status = read_proc_file(folder + "/status");
    const std::size_t parent_at = status.find("\nPPid:"), numbers_at = status.find("\nNSpid:");
    if (words.find(kInitInside) == words.npos || parent_at == status.npos ||
        numbers_at == status.npos)
        return false;
    std::string_view parent = std::string_view(status).substr(parent_at),
                     numbers = std::string_view(status).substr(
                         numbers_at, status.find('\n', numbers_at + 1) - numbers_at);
    next_number(numbers);
    return next_number(numbers) == 1 &&
           read_proc_file(fmt::format("/proc/{}/comm", next_number(parent))) != kBubblewrap;
}

}  // namespace

std::size_t end_orphaned_sandboxes() {
    std::size_t ended = 0;
    DIR* const folder = ::opendir("/proc");
    if (folder == nullptr) return 0;
    while (const dirent* entry = ::readdir(folder)) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        const std::string name = entry->d_name;
        // before it is looked at: then it is that one
        const Descriptor process = open_pidfd(std::atoi(name.c_str()));
        if (process.is_open() && is_orphaned_sandbox("/proc/" + name) &&
            signal_pidfd(process, SIGKILL))
            ++ended;
    }
    ::closedir(folder);
    return ended;
}

std::uint32_t tasks_of_this_user() {
    std::uint32_t tasks = 0;
    DIR* const folder = ::opendir("/proc");
    if (folder == nullptr) return 0;
    while (const dirent* entry = ::readdir(folder)) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        struct stat about{};
        const std::string threads = fmt::format("/proc/{}/task", entry->d_name);
        if (::stat(threads.c_str(), &about) == 0 && about.st_uid == ::getuid() &&
            about.st_nlink > 2)
            tasks += static_cast<std::uint32_t>(about.st_nlink - 2);
    }
    ::closedir(folder);
    return tasks;
}

}  // namespace crab::command
