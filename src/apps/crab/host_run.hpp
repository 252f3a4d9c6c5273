#pragma once

#include "apps/crab/host/built_in_host.hpp"

namespace crab::app {

/// Runs a built-in tool host until SIGINT or SIGTERM; makes the folder for its state. Returns a process exit code (exit_codes.hpp).
int run_host(HostKind kind, const sdk::HostEngine::Options& where, const std::optional<net::Endpoint>& events_to);

}  // namespace crab::app
