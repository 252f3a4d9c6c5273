#pragma once

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "core/effective_policy.hpp"

#include <cstdint>

namespace crab::command {

/// What keeps the signals of a command from other processes of its user.
enum class SignalScope : std::uint8_t {
    kNamespace,   ///< a PID namespace; mounts and networks have theirs, too
    kLandlock,    ///< Landlock (ABI 6); there are no namespaces
    kNobody,      ///< nothing: the filter refuses to send any but to its own group
};

/// The seccomp filter of a level as BPF instructions in a memory file, which crab-sandbox-init loads. MINIMAL: threads but no
/// new process. Every level: no ptrace, bpf, io_uring, userfaultfd, keyrings, mounts, namespaces, modules, TIOCSTI, and no
/// sockets but Unix, IPv4, IPv6 and route netlink; clone3() is ENOSYS, for a filter cannot see its flags.
/// Without namespaces also no sockets at all, no changes of modes, owners and times of files by name, no System V memory, no watching of
/// files, and nothing that reaches for other processes by their number.
/// Errors: kUnavailable where libseccomp or the kernel does not play along. Source: docs/protocols/sw4rm.md, section 10.
Result<Descriptor> make_seccomp_filter(core::Privilege level, SignalScope signals = SignalScope::kNamespace);

}  // namespace crab::command
