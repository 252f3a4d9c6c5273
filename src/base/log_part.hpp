#pragma once

#include <array>
#include <string_view>

/// The parts of the program, as far as the log knows them: the folders of src/.
namespace crab::log {

/// Every folder with sources; a tree test compares them.
inline constexpr std::array<std::string_view, 89> kParts{
    "adapters/cetp",
    "adapters/clawseed",
    "adapters/mcp/auth",
    "adapters/mcp/client",
    "adapters/mcp/server",
    "adapters/mcp/tasks",
    "adapters/mcp/upstreams",
    "adapters/mcp/wire",
    "adapters/rtp/calls",
    "adapters/rtp/events",
    "adapters/rtp/hosts",
    "adapters/rtp/pairing",
    "adapters/rtp/wire",
    "adapters/sw4rm",
    "admin",
    "admin/live",
    "agent",
    "apps/crab",
    "apps/sandbox_init",
    "base",
    "base/process",
    "base/task",
    "bridge",
    "bridge/built_in",
    "bridge/dbus",
    "bus",
    "bus/local",
    "bus/nats",
    "cli",
    "cli/output",
    "config",
    "console",
    "console/bridge",
    "console/door",
    "console/relay",
    "core/approvals",
    "core/audit",
    "core/call",
    "core/chat",
    "core/events",
    "core/ledger",
    "core/live",
    "core/pipeline",
    "core/policy",
    "core/registry",
    "crypto",
    "fleet",
    "gateway",
    "gateway/agents",
    "gateway/context",
    "gateway/devices",
    "gateway/fleet",
    "gateway/hosts",
    "gateway/listeners",
    "gateway/mcp",
    "gateway/operator",
    "gateway/rules",
    "gateway/stored",
    "gateway/telemetry",
    "hosting",
    "hosts/command",
    "hosts/command/egress",
    "hosts/command/init",
    "hosts/cron",
    "hosts/memory",
    "json",
    "json/schema",
    "net/codec",
    "net/grpc",
    "net/http",
    "net/http2",
    "net/loop",
    "net/tls",
    "net/websocket",
    "push",
    "push/sending",
    "runtime",
    "sdk",
    "sdk/machine",
    "sdk/provider",
    "sdk/tool_host",
    "setup",
    "store",
    "store/memory",
    "store/postgres",
    "store/sqlite",
    "store/suite",
    "trust",
    "trust/pairing",
};

/// The part that a source file is in, such as `adapters/mcp/server`; of a file elsewhere its
/// folder's name or nothing.
constexpr std::string_view part_of(std::string_view file) {
    // Headers are reached through links: <build>/headers/<module>/<part>/<file>.
    constexpr std::string_view kSource = "src/", kLinked = "headers/";
    if (const auto at = file.rfind(kSource); at != file.npos && (at == 0 || file[at - 1] == '/')) {
        file.remove_prefix(at + kSource.size());
    } else if (const auto linked = file.rfind(kLinked); linked != file.npos) {
        file.remove_prefix(linked + kLinked.size());
        file.remove_prefix(file.find('/') == file.npos ? 0 : file.find('/') + 1);
    }
    const auto end = file.rfind('/');
    return end == file.npos ? std::string_view() : file.substr(0, end);
}

/// Whether `name` is a part, or above one, as `adapters` is.
constexpr bool is_part(std::string_view name) {
    for (const std::string_view part : kParts)
        if (part.starts_with(name) && (part.size() == name.size() || part[name.size()] == '/'))
            return !name.empty();
    return false;
}

}  // namespace crab::log
