#pragma once

#include "core/call/call.hpp"

#include <string>

namespace crab::core {

/// A key for hosts to which all callers of a gateway are one client: callers may choose equal ids
/// and keys, and must neither meet there nor get each other's outcomes. 32 hexadecimal digits of a
/// SHA-256 over tenant, principal and the caller's idempotency key, or the call's id where it gave
/// none: the same in all attempts, for a repeat and after a restart, so a host that knows the call
/// recognizes it. RTP hosts get the caller's own ids, for their protocol says so.
std::string host_idempotency_key(const Call& call, const Principal& principal);

}  // namespace crab::core
