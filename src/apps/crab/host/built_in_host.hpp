#pragma once

#include "sdk/tool_host/host_engine.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace crab::app {

/// The tool hosts that come with crab.
enum class HostKind : std::uint8_t { kMemory, kCron };
std::string_view name_of(HostKind kind);

/// Runs a built-in host in this process, with its store `<kind>.db` beside the engine's. `where` says how it listens and where its state
/// lies; service and tools are set here. `events_to` is the gateway that takes what cron jobs fire: its admin socket, or for a host
/// that is paired its peer listener; nothing: events wait. Errors: those of HostEngine::start() and of the store; kInvalidArgs,
/// kUnavailable for an address that leads nowhere.
Result<std::unique_ptr<sdk::HostEngine>> start_built_in_host(HostKind kind, sdk::HostEngine::Options where, const std::optional<net::Endpoint>& events_to);

}  // namespace crab::app
