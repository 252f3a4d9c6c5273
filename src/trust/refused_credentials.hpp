#pragma once

#include <string_view>

namespace crab::trust {

/// Says in the log that a credential was refused: `kind` (bearer token, pairing code, device key),
/// the address it came from, why. Never the credential. Whoever guesses writes at most some lines a
/// minute. Thread-safe.
void log_refused_credential(std::string_view kind, std::string_view from, std::string_view why);

}  // namespace crab::trust
