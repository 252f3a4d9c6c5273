#pragma once

#include "config/gateway_config.hpp"
#include "sdk/tool_host/host_engine.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace crab::hosting {

/// The tool hosts that come with crab.
enum class HostKind : std::uint8_t { kMemory, kCron, kExec };
std::string_view name_of(HostKind kind);

/// The options of a built-in host.
struct BuiltInHost {
    HostKind kind = HostKind::kMemory;
    /// For cron: the gateway that accepts fired events: its admin socket, or for a paired host its
    /// peer listener; nothing: events stay queued
    std::optional<net::Endpoint> events_to;
    config::GatewayConfig commands;  ///< of exec: its worktrees and providers count
};

/// The options for a built-in host in a process of its own: `where` sets listener and state folder;
/// this adds its name, its tools and its store `<kind>.db` next to the engine's. Errors:
/// kInvalidArgs, kUnavailable for an address that does not resolve.
Result<sdk::HostEngine::Options> built_in_host(const BuiltInHost& host,
                                               sdk::HostEngine::Options where);

}  // namespace crab::hosting
