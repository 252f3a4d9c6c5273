#pragma once

#include "base/clock.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace crab::command {

/// Where control groups for commands can be made; empty paths where they cannot.
struct CgroupPlaces {
    std::filesystem::path unified;   ///< v2, with the controllers memory and pids handed down
    /// v1; its other controllers are not worth the milliseconds that joining each takes
    std::filesystem::path pids, memory;

    bool any() const { return count_memory() || !pids.empty(); }
    /// Whether the kernel limits all memory of a command: that of sockets, files in memory and
    /// shared segments, too.
    bool count_memory() const { return !unified.empty() || !memory.empty(); }
    /// Looks at this process's own groups. On v2 it moves this process into a subgroup, because a
    /// group that hands controllers down may hold no process, and back when that is refused
    /// (somebody else is in the group too). Empty groups of commands whose gateway was killed are
    /// removed.
    static CgroupPlaces find(const std::filesystem::path& root = "/sys/fs/cgroup",
                             const std::filesystem::path& membership = "/proc/self/cgroup");
    /// What find() would say to the process of that membership, or has said to it; changes nothing.
    static CgroupPlaces look(const std::filesystem::path& root = "/sys/fs/cgroup",
                             const std::filesystem::path& membership = "/proc/self/cgroup");
};

/// What an operator does about a process for which find() finds no memory controller.
constexpr std::string_view kHowToDelegate =
    "delegate cgroup v2 to the gateway: Delegate=yes and ProtectControlGroups=no in its systemd "
    "unit, or start it with systemd-run --user --scope -p Delegate=yes";

/// The control groups of one command: limits that the kernel keeps, and its meters. Without any
/// place it does nothing. Gone with this object, by when every process in it has to be dead.
/// Source: docs/protocols/sw4rm.md, section 10.
class CommandCgroup {
public:
    struct Limits {
        std::uint64_t memory_bytes = 0;
        std::uint32_t processes = 0;
    };
    /// `name` is unique among the commands of this machine.
    CommandCgroup(const CgroupPlaces& places, const std::string& name, Limits limits);
    /// False when there is a place for memory limits and they could not be set: then nothing may
    /// run.
    bool is_good() const { return good_; }
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
    std::filesystem::path unified_, pids_, memory_;
    bool good_ = true;
};

}  // namespace crab::command
