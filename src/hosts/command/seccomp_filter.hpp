#pragma once

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "core/call/effective_policy.hpp"

#include <cstdint>

namespace crab::command {

/// What keeps the signals of a command from other processes of its user.
enum class SignalScope : std::uint8_t {
    kNamespace,   ///< a PID namespace; mounts and networks have theirs, too
    kLandlock,    ///< Landlock (ABI 6); there are no namespaces
    kNobody,      ///< nothing: the filter refuses to send any but to its own group
};

struct SeccompOrders {
    core::Privilege level = core::Privilege::kMinimal;
    SignalScope signals = SignalScope::kNamespace;
    /// Only with the host's network: they lead out of every network namespace, by way of a folder
    bool unix_sockets = false;
    /// By a control group; if not, no memory is to be had that is in no process
    bool memory_is_counted = true;
};

/// A seccomp filter as BPF instructions in a memory file, which crab-sandbox-init loads. MINIMAL:
/// threads but no new process. Every level: no ptrace, bpf, io_uring, userfaultfd, keyrings,
/// mounts, namespaces, modules, TIOCSTI, no files with the set-user-ID or set-group-ID bit, no
/// extended attributes (access lists and capabilities are some), and no sockets but IPv4, IPv6,
/// route netlink and connected pairs; Unix sockets where they are ordered. clone3() and openat2()
/// are ENOSYS, for a filter cannot see their arguments. Without counted memory: no sockets at all,
/// no memory files, no System V objects, no mappings that are shared, nothing that keeps pages in
/// pipes. Without namespaces also no sockets at all, no changes of modes, owners and times of files
/// by name, no System V memory, no watching of files, and nothing that reaches for other processes
/// by their number. Errors: kUnavailable where libseccomp or the kernel does not play along.
/// Source: docs/protocols/sw4rm.md, section 10.
Result<Descriptor> make_seccomp_filter(const SeccompOrders& orders);

}  // namespace crab::command
