#pragma once

#include "base/clock.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <sys/types.h>

namespace crab::command {

/// Where control groups for commands can be made; empty paths where they cannot.
struct CgroupPlaces {
    std::filesystem::path unified;   ///< v2, with the controllers memory and pids handed down
    std::filesystem::path pids;      ///< v1; its other controllers are not worth the milliseconds that joining each takes

    bool any() const { return !unified.empty() || !pids.empty(); }
    /// Looks at this process's own groups. On v2 it moves this process into a subgroup, because a group that hands
    /// controllers down may hold no process, and back when that is refused (somebody else is in the group too). Empty groups
    /// of commands whose gateway was killed are removed.
    static CgroupPlaces find(const std::filesystem::path& root = "/sys/fs/cgroup", const std::filesystem::path& membership = "/proc/self/cgroup");
};

/// The control groups of one command: limits that the kernel keeps, and its meters. Without any place it does nothing. Gone with
/// this object, by when every process in it has to be dead. Source: docs/protocols/sw4rm.md, section 10.
class CommandCgroup {
public:
    struct Limits {
        std::uint64_t memory_bytes = 0;
        std::uint32_t processes = 0;
    };
    /// `name` is unique among the commands of this machine.
    CommandCgroup(const CgroupPlaces& places, const std::string& name, Limits limits);
    CommandCgroup(const CommandCgroup&) = delete;
    CommandCgroup& operator=(const CommandCgroup&) = delete;
    ~CommandCgroup();

    /// Puts a process in, with all that it will start. False when some group refused it.
    bool add(pid_t process) const;
    /// User and system time of all that were ever in it; nothing when nobody counts.
    std::optional<Milliseconds> cpu() const;
    /// Whether the kernel has ended a process of it for want of memory.
    bool ran_out_of_memory() const;
    /// Ends all of it at once, where the kernel can.
    void kill() const;

private:
    std::filesystem::path unified_, pids_;
};

}  // namespace crab::command
