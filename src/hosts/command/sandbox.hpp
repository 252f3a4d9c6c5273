#pragma once

#include "core/call/effective_policy.hpp"
#include "hosts/command/command_cgroup.hpp"
#include "hosts/command/file_handle.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crab::command {

/// How a command is isolated.
enum class Confinement : std::uint8_t {
    kNone,         ///< not available: nothing may run
    kNamespaces,   ///< bubblewrap's namespaces, and Landlock and seccomp inside
    kLandlock,     ///< Landlock and seccomp alone
};

/// Network access of a sandbox.
enum class NetworkAccess : std::uint8_t {
    kNone,
    kProxy,        ///< a proxy socket on its loopback, kProxyPort
    kOutbound,     ///< a network of its own, joined by slirp4netns
    kHost,         ///< the host's network
};

/// `crab-sandbox-init`: in the program's folder or its parents, if only root and this user may
/// write there, else the installed one. Empty: not found.
std::filesystem::path find_init_from(const std::filesystem::path& beside);

/// What this machine can enforce; detected once, at start.
struct SandboxAbilities {
    std::filesystem::path bubblewrap;    ///< empty: not installed
    std::filesystem::path init;          ///< crab-sandbox-init; empty: not found
    /// slirp4netns; empty: not installed, or without a device to work with
    std::filesystem::path slirp;
    bool namespaces = false;             ///< bubblewrap can create namespaces here
    int landlock_abi = 0;                ///< 0: none
    bool seccomp = false;
    /// Empty: rlimits and polling only; not set by detect(), since CgroupPaths::find() may move
    /// this process
    CgroupPaths cgroups;
    /// /tmp, which commands without namespaces write to, is a tmpfs
    bool scratch_is_memory = false;

    /// Looks for programs, queries the kernel, and creates one empty sandbox. Blocks for some
    /// milliseconds.
    static SandboxAbilities detect();
    Confinement confinement() const;
    /// Why the label cannot be enforced here and what would help; nothing when it can.
    std::optional<std::string> missing(core::Network network) const;
    std::optional<std::string> missing(core::Privilege privilege) const;

private:
    std::string why_not() const;
    std::optional<std::string> why_unlimited() const;
};

/// A host file that is bound at `at` in the sandbox.
struct Bind {
    FileHandle file;
    std::filesystem::path at;
};

/// The sandbox of one command.
struct SandboxRequest {
    std::vector<std::string> argv;
    std::vector<std::pair<std::string, std::string>> environment;
    std::optional<FileHandle> worktree;  ///< becomes /wt, the current directory
    bool worktree_writable = false;
    std::uint64_t memory_bytes = 0;
    std::uint32_t processes = 0;
    Milliseconds budget_cpu{0};  ///< 0: none
    bool landlock = true;
    NetworkAccess network = NetworkAccess::kNone;
    std::vector<Bind> readable;  ///< of the host, in addition to the system
    std::vector<Bind> writable;  ///< of the host, in addition to the worktree
    /// The current directory inside where there is no worktree; empty: /tmp
    std::filesystem::path folder;
    /// All files of this user except `hidden`; nothing is remounted, so the worktree keeps its path
    bool whole_host = false;
    /// With `whole_host`: hidden, and neither they nor their parent folders can be moved
    std::vector<std::filesystem::path> hidden;
    std::filesystem::path scratch;  ///< without namespaces: its folder for temporary files
};

/// Descriptors that bubblewrap and crab-sandbox-init inherit, in addition to those of the request's
/// files.
struct SandboxDescriptors {
    int info = -1, block = -1, status = -1, control = -1, filter = -1, proxy = -1, resolver = -1;
};

/// Bubblewrap's options, passed through a descriptor (`--args`) instead of the command line,
/// because they contain secrets. User, PID, IPC, UTS, cgroup, mount and network namespaces, a
/// read-only system, private /proc, /tmp of a limited size, and a /dev without terminals that
/// nobody can write to. Host files are bound by descriptor. Source: docs/protocols/sw4rm.md,
/// section 10.
std::vector<std::string> bubblewrap_options(const SandboxAbilities& abilities,
                                            const SandboxRequest& request,
                                            const SandboxDescriptors& descriptors);
/// The words after bubblewrap's options: crab-sandbox-init with its options, then the command.
/// bubblewrap mounts by the descriptor's path, so crab-sandbox-init verifies each file's identity
/// and refuses to start if one was replaced in between.
std::vector<std::string> sandbox_command(const SandboxAbilities& abilities,
                                         const SandboxRequest& request,
                                         const SandboxDescriptors& descriptors);
/// crab-sandbox-init with its options and the command, where there are no namespaces: it supervises
/// its descendants itself.
std::vector<std::string> bare_command(const SandboxAbilities& abilities,
                                      const SandboxRequest& request,
                                      const SandboxDescriptors& descriptors);

/// PATH inside the sandbox.
constexpr std::string_view kSandboxPath = "/usr/local/bin:/usr/bin:/bin";
/// Whether the sandbox has the program: by name on kSandboxPath, or by a path in the visible system
/// folders.
bool has_program(std::string_view program);
/// Whether every sandbox shows what lies there: it is part of the system.
bool is_of_the_system(const std::filesystem::path& path);

}  // namespace crab::command
