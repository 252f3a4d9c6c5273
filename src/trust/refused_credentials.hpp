#pragma once

#include <string_view>

namespace crab::trust {

/// Logs a refused credential: `kind` (bearer token, pairing code, device key), the address and the
/// reason, never the credential. Rate-limited. Thread-safe.
void log_refused_credential(std::string_view kind, std::string_view from, std::string_view why);

}  // namespace crab::trust
