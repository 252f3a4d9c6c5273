#pragma once

#include "sdk/provider/provider_tools.hpp"

#include <string>

namespace crab::sdk {

/// One call as `Transport=exec` makes it: `args` on standard input, the rest in the environment,
/// the envelope on standard output. Returns an exit status. Source: docs/protocols/cetp.md,
/// section 3.
int serve_command(ProviderTools& tools, const std::string& method);

}  // namespace crab::sdk
