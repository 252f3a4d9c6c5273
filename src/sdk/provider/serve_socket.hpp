#pragma once

#include "sdk/provider/provider_tools.hpp"

#include <string>

namespace crab::sdk {

/// Listens at `path` (mode 0600, replacing a socket that nobody serves) until SIGTERM or SIGINT,
/// one connection per call. Returns an exit status. Source: docs/protocols/cetp.md, section 3.
int serve_socket(ProviderTools& tools, const std::string& path);

}  // namespace crab::sdk
