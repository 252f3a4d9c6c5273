#pragma once

#include "sdk/tool_host/host_engine.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace crab::app {

/// The tool hosts that come with crab.
enum class HostKind : std::uint8_t { kMemory, kCron };
std::string_view name_of(HostKind kind);

/// A built-in host for a process of its own: `where` says how it listens and where its state lies; its name and its tools, with the store
/// `<kind>.db` beside the engine's, are set here. `events_to` is the gateway that takes what cron jobs fire: its admin socket, or for a
/// host that is paired its peer listener; nothing: events wait. Errors: kInvalidArgs, kUnavailable for an address that leads nowhere.
Result<sdk::HostEngine::Options> built_in_host(HostKind kind, sdk::HostEngine::Options where, const std::optional<net::Endpoint>& events_to);

}  // namespace crab::app
