#pragma once

#include "base/clock.hpp"
#include "base/descriptor.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace crab::command {

/// The parents of control groups for commands; empty paths where none can be created.
struct CgroupPaths {
    std::filesystem::path unified;   ///< v2, with the controllers memory and pids delegated
    /// v1; joining further controllers would cost milliseconds each
    std::filesystem::path pids, memory;

    bool any() const { return count_memory() || !pids.empty(); }
    /// Whether the kernel limits all memory of a command, including sockets, memory files and
    /// shared segments.
    bool count_memory() const { return !unified.empty() || !memory.empty(); }
    /// Looks at this process's own groups. On v2 it moves this process into a subgroup, because a
    /// group that delegates controllers must not contain processes, and back if that fails (the
    /// group contains other processes). Empty groups of commands whose gateway was killed are
    /// removed.
    static CgroupPaths find(const std::filesystem::path& root = "/sys/fs/cgroup",
                            const std::filesystem::path& membership = "/proc/self/cgroup");
    /// The result of find() for a process with that membership; changes nothing.
    static CgroupPaths look(const std::filesystem::path& root = "/sys/fs/cgroup",
                            const std::filesystem::path& membership = "/proc/self/cgroup");
};

/// Advice for an operator when find() finds no memory controller.
constexpr std::string_view kHowToDelegate =
    "delegate cgroup v2 to the gateway: Delegate=yes and ProtectControlGroups=no in its systemd "
    "unit, or start it with systemd-run --user --scope -p Delegate=yes";

/// The control groups of one command: limits and accounting by the kernel. Does nothing without
/// paths. Removed on destruction; all its processes must have ended by then. Source:
/// docs/protocols/sw4rm.md, section 10.
class CommandCgroup {
public:
    struct Limits {
        std::uint64_t memory_bytes = 0;  ///< 0: only counted
        std::uint32_t processes = 0;
    };
    /// `name` is unique among the commands of this machine.
    CommandCgroup(const CgroupPaths& places, const std::string& name, Limits limits);
    /// False when memory limits could not be set although they are available: then nothing may run.
    bool is_good() const { return good_; }
    CommandCgroup(const CommandCgroup&) = delete;
    CommandCgroup& operator=(const CommandCgroup&) = delete;
    ~CommandCgroup();

    /// Adds a process and its future children. False when a group refused it.
    bool add(pid_t process) const;
    /// By which a process puts itself into the groups, before it has children: it writes `0`. One
    /// that is not open could not be opened.
    std::vector<Descriptor> procs_files() const;
    /// User and system time of all processes ever in it; nothing if not available.
    std::optional<Milliseconds> cpu() const;
    /// Whether the OOM killer has ended one of its processes.
    bool ran_out_of_memory() const;
    /// Kills all processes at once, where the kernel supports it.
    void kill() const;

private:
    std::filesystem::path unified_, pids_, memory_;
    bool good_ = true;
};

}  // namespace crab::command
