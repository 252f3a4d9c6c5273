#pragma once

#include "apps/crab/host/host_process.hpp"

namespace crab::app {

/// Runs a built-in tool host until SIGINT or SIGTERM; makes the folder for its state. Returns a process exit code (exit_codes.hpp).
int run_host(const HostProcess::Options& options);

}  // namespace crab::app
