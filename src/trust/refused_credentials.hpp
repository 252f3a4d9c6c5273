#pragma once

#include <cstdint>
#include <string_view>

namespace crab::trust {

/// Where a credential was brought to.
enum class Entrance : std::uint8_t { kPublic, kGrpc, kPeers };

/// Counts and logs a refused credential: `kind` (bearer token, pairing code, device key), the
/// address and the reason, never the credential. The log is rate-limited. Thread-safe.
void log_refused_credential(std::string_view kind, std::string_view from, std::string_view why,
                            Entrance entrance = Entrance::kPublic);
/// Only counts one.
void count_refused_credential(Entrance entrance);
/// How many this process has refused. Thread-safe.
std::uint64_t refused_credentials(Entrance entrance);

}  // namespace crab::trust
