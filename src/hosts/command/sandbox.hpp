#pragma once

#include "core/call/effective_policy.hpp"
#include "hosts/command/command_cgroup.hpp"
#include "hosts/command/held_file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crab::command {

/// How a command is kept apart from everything else.
enum class Confinement : std::uint8_t {
    kNone,         ///< not at all: nothing may run
    kNamespaces,   ///< bubblewrap's namespaces, and Landlock and seccomp inside
    kLandlock,     ///< Landlock and seccomp alone
};

/// The ways out of a sandbox.
enum class WayOut : std::uint8_t {
    kNone,
    kProxy,        ///< a proxy socket on its loopback, kProxyPort
    kOutbound,     ///< a network of its own, joined by slirp4netns
    kHost,         ///< the host's network
};

/// `crab-sandbox-init`: in the folder of the program or above it, as far as nobody but root and
/// this user may write there, else where it is installed. Empty: it is nowhere.
std::filesystem::path find_init_from(const std::filesystem::path& beside);

/// What this host can enforce; found out once, at the start.
struct SandboxAbilities {
    std::filesystem::path bubblewrap;    ///< empty: not installed
    std::filesystem::path init;          ///< crab-sandbox-init; empty: not found
    /// slirp4netns; empty: not installed, or without a device to work with
    std::filesystem::path slirp;
    bool namespaces = false;             ///< bubblewrap can make its namespaces here
    int landlock_abi = 0;                ///< 0: none
    bool seccomp = false;
    /// None: rlimits and polling alone; detect() leaves it so, for CgroupPlaces::find() may move
    /// this process
    CgroupPlaces cgroups;
    /// /tmp of the host, which commands without namespaces write to, is made of memory
    bool scratch_is_memory = false;

    /// Looks for programs, asks the kernel, and makes one empty sandbox. Blocks for some
    /// milliseconds.
    static SandboxAbilities detect();
    Confinement confinement() const;
    /// Why the label cannot be kept here and what would help; nothing when it can.
    std::optional<std::string> missing(core::Network network) const;
    std::optional<std::string> missing(core::Privilege privilege) const;

private:
    std::string why_not() const;
    std::optional<std::string> why_unlimited() const;
};

/// Something of the host that a sandbox shows at `at`.
struct Bind {
    HeldFile file;
    std::filesystem::path at;
};

/// One command as it has to run.
struct SandboxRequest {
    std::vector<std::string> argv;
    std::vector<std::pair<std::string, std::string>> environment;
    std::optional<HeldFile> worktree;  ///< becomes /wt, the current directory
    bool worktree_writable = false;
    std::uint64_t memory_bytes = 0;
    std::uint32_t processes = 0;
    Milliseconds budget_cpu{0};  ///< 0: none
    bool landlock = true;
    WayOut way_out = WayOut::kNone;
    std::vector<Bind> writable;  ///< of the host, beside the worktree
    /// All files of this user, but `hidden`; the worktree is where it is, for nothing is mounted
    /// new
    bool whole_host = false;
    /// With `whole_host`: out of sight, and neither they nor a folder above them can be moved
    std::vector<std::filesystem::path> hidden;
    std::filesystem::path scratch;  ///< without namespaces: its folder for what does not last
};

/// The descriptors that bubblewrap and crab-sandbox-init find open, by number, beside those of the
/// request's files.
struct SandboxDescriptors {
    int info = -1, block = -1, status = -1, control = -1, filter = -1, proxy = -1, resolver = -1;
};

/// Bubblewrap's options, those that may be read by everybody and those that may not being the same
/// list: it goes through a descriptor (`--args`), never onto a command line. User, PID, IPC, UTS,
/// cgroup, mount and network namespaces, a read-only system, private /proc, /tmp of a limited size,
/// and a /dev without terminals that nobody can write to. What is bound of the host is named by its
/// descriptor. Source: docs/protocols/sw4rm.md, section 10.
std::vector<std::string> bubblewrap_options(const SandboxAbilities& abilities,
                                            const SandboxRequest& request,
                                            const SandboxDescriptors& descriptors);
/// The words after bubblewrap's options: crab-sandbox-init with its orders, then the command.
/// bubblewrap finds a descriptor's path and mounts that, so crab-sandbox-init is told which file
/// has to be there, and starts nothing when somebody put another one there in between.
std::vector<std::string> sandbox_command(const SandboxAbilities& abilities,
                                         const SandboxRequest& request,
                                         const SandboxDescriptors& descriptors);
/// crab-sandbox-init with its orders and the command where there are no namespaces: it keeps its
/// descendants by itself.
std::vector<std::string> bare_command(const SandboxAbilities& abilities,
                                      const SandboxRequest& request,
                                      const SandboxDescriptors& descriptors);

/// Where commands are looked for inside the sandbox.
constexpr std::string_view kSandboxPath = "/usr/local/bin:/usr/bin:/bin";
/// Whether the sandbox has the program: by name on kSandboxPath, or by a path in what it shows of
/// the system.
bool has_program(std::string_view program);

}  // namespace crab::command
