#pragma once

#include "core/effective_policy.hpp"
#include "hosts/command/command_cgroup.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crab::command {

/// What this host can enforce; found out once, at the start.
struct SandboxAbilities {
    std::filesystem::path bubblewrap;    ///< empty: not installed
    std::filesystem::path init;          ///< crab-sandbox-init; empty: not found
    bool namespaces = false;             ///< bubblewrap can make its namespaces here
    int landlock_abi = 0;                ///< 0: none
    bool seccomp = false;
    CgroupPlaces cgroups;                ///< none: rlimits and polling alone; detect() leaves it so, for CgroupPlaces::find() may move this process

    /// Looks for programs, asks the kernel, and makes one empty sandbox. Blocks for some milliseconds.
    static SandboxAbilities detect();
    /// Why the label cannot be kept here and what would help; nothing when it can. `egress`: whether the provider lists hosts.
    std::optional<std::string> missing(core::Network network, bool egress) const;
    std::optional<std::string> missing(core::Privilege privilege) const;
};

/// One command as it has to run.
struct SandboxRequest {
    std::vector<std::string> argv;
    std::vector<std::pair<std::string, std::string>> environment;
    std::optional<std::filesystem::path> worktree;   ///< becomes /wt, the current directory
    bool worktree_writable = false;
    std::uint64_t memory_bytes = 0;
    std::uint32_t processes = 0;
    Milliseconds budget_cpu{0};                      ///< 0: none
    bool landlock = true;
};

/// The descriptors that bubblewrap and crab-sandbox-init find open, by number.
struct SandboxDescriptors {
    int info = -1, block = -1, status = -1, control = -1, filter = -1;
};

/// Bubblewrap's options, those that may be read by everybody and those that may not being the same list: it goes through a
/// descriptor (`--args`), never onto a command line. User, PID, IPC, UTS, cgroup, mount and network namespaces, a read-only
/// system, private /proc, /dev and /tmp. Source: docs/protocols/sw4rm.md, section 10.
std::vector<std::string> bubblewrap_options(const SandboxAbilities& abilities, const SandboxRequest& request, const SandboxDescriptors& descriptors);
/// The words after bubblewrap's options: crab-sandbox-init with its orders, then the command.
std::vector<std::string> sandbox_command(const SandboxRequest& request, const SandboxDescriptors& descriptors);

/// Where commands are looked for inside the sandbox.
constexpr std::string_view kSandboxPath = "/usr/local/bin:/usr/bin:/bin";
/// Whether the sandbox has the program: by name on kSandboxPath, or by a path in what it shows of the system.
bool has_program(std::string_view program);

}  // namespace crab::command
