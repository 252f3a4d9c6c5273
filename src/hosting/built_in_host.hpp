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

/// What a kind needs beside a place.
struct BuiltInHost {
    HostKind kind = HostKind::kMemory;
    /// Of cron: the gateway that takes what jobs fire, its admin socket, or for a host that is
    /// paired its peer listener; nothing: events wait
    std::optional<net::Endpoint> events_to;
    config::GatewayConfig commands;           ///< of exec: its worktrees and providers count
};

/// A built-in host for a process of its own: `where` says how it listens and where its state lies;
/// its name and its tools, with the store
/// `<kind>.db` beside the engine's, are set here. Errors: kInvalidArgs, kUnavailable for an address
/// that leads nowhere.
Result<sdk::HostEngine::Options> built_in_host(const BuiltInHost& host,
                                               sdk::HostEngine::Options where);

}  // namespace crab::hosting
