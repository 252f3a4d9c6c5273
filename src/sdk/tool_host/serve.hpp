#pragma once

#include "sdk/tool_host/host_engine.hpp"

namespace crab::sdk {

/// Runs a host until SIGINT or SIGTERM: what main() of a host does. Prints `remote_key=…` for one
/// behind mutual TLS, then `crab host ready name=… unix=…|listen=…`. Returns an exit status: 0, or
/// 1 after a line on standard error. Before it no thread may run that takes signals.
int serve_until_signal(const HostEngine::Options& options);

}  // namespace crab::sdk
