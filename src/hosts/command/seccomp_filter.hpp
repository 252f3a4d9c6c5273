#pragma once

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "core/effective_policy.hpp"

namespace crab::command {

/// The seccomp filter of a level as BPF instructions in a memory file, which crab-sandbox-init loads. MINIMAL: threads but no
/// new process. Every level: no ptrace, bpf, io_uring, userfaultfd, keyrings, mounts, namespaces, modules, TIOCSTI, and no
/// sockets but Unix, IPv4, IPv6 and route netlink; clone3() is ENOSYS, for a filter cannot see its flags.
/// Errors: kUnavailable where libseccomp or the kernel does not play along. Source: docs/protocols/sw4rm.md, section 10.
Result<Descriptor> make_seccomp_filter(core::Privilege level);

}  // namespace crab::command
