#pragma once

#include "hosting/built_in_host.hpp"

namespace crab::hosting {

/// Runs a built-in tool host until SIGINT or SIGTERM; creates its state folder. Returns a process
/// exit code (exit_codes.hpp).
int run_host(const BuiltInHost& what, const sdk::HostEngine::Options& where);

}  // namespace crab::hosting
