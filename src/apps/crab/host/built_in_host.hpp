#pragma once

#include "sdk/tool_host/host_engine.hpp"

#include <cstdint>
#include <string_view>

namespace crab::app {

/// The tool hosts that come with crab.
enum class HostKind : std::uint8_t { kMemory, kCron };
std::string_view name_of(HostKind kind);

/// Runs a built-in host in this process, with its store `<kind>.db` beside the engine's. `where` says how it listens and where its state
/// lies; service and tools are set here. Errors: those of HostEngine::start() and of the store.
Result<std::unique_ptr<sdk::HostEngine>> start_built_in_host(HostKind kind, sdk::HostEngine::Options where);

}  // namespace crab::app
