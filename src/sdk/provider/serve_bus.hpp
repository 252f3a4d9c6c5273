#pragma once

#include "sdk/provider/provider_tools.hpp"

#include <chrono>
#include <string>

namespace crab::sdk {

/// Takes the provider's id as a name on the session bus and answers there; returns an exit status
/// when it was idle for `idle`, when the bus went away, or when the name could not be had. Source:
/// docs/protocols/cetp.md, sections 2 and 7.
int serve_bus(ProviderTools& tools, std::chrono::seconds idle);

}  // namespace crab::sdk
