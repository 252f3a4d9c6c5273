#pragma once

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "core/call/effective_policy.hpp"

#include <cstdint>

namespace crab::command {

/// What prevents a command from signalling other processes of its user.
enum class SignalScope : std::uint8_t {
    kNamespace,   ///< a PID namespace; mounts and networks have theirs, too
    kLandlock,    ///< Landlock (ABI 6); there are no namespaces
    kNobody,      ///< nothing: the filter allows signals to its own group only
};

struct SeccompOptions {
    core::Privilege level = core::Privilege::kMinimal;
    SignalScope signals = SignalScope::kNamespace;
    /// Only with the host's network: Unix sockets bypass network namespaces through the file system
    bool unix_sockets = false;
    /// By a control group; if not, memory outside of processes is not available
    bool memory_is_counted = true;
};

/// A seccomp filter as BPF instructions in a memory file, which crab-sandbox-init loads. MINIMAL:
/// threads but no new process. Every level: no ptrace, bpf, io_uring, userfaultfd, keyrings,
/// mounts, namespaces, modules, TIOCSTI, no files with the set-user-ID or set-group-ID bit, no
/// extended attributes (access lists and capabilities are some), and no sockets but IPv4, IPv6,
/// route netlink and connected pairs; Unix sockets if enabled. clone3() and openat2() return
/// ENOSYS, since a filter cannot see their arguments. Without counted memory: no sockets at all, no
/// memory files, no System V objects, no mappings that are shared, no vmsplice into pipes. Without
/// namespaces also no sockets at all, no changes of modes, owners and times of files by name, no
/// System V memory, no watching of files, and no access to other processes by pid. Errors:
/// kUnavailable when libseccomp or the kernel fails. Source: docs/protocols/sw4rm.md, section 10.
Result<Descriptor> make_seccomp_filter(const SeccompOptions& orders);

}  // namespace crab::command
