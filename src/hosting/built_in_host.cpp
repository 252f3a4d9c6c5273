#include "hosting/built_in_host.hpp"

#include "hosting/cron_sinks.hpp"
#include "hosting/hosted_commands.hpp"
#include "hosting/hosted_cron.hpp"
#include "hosting/hosted_memory.hpp"
#include "hosting/http_event_sink.hpp"

#include <string>
#include <utility>

namespace crab::hosting {

std::string_view name_of(HostKind kind) {
    switch (kind) {
        case HostKind::kMemory: return "memory";
        case HostKind::kCron: return "cron";
        case HostKind::kExec: return "exec";
    }
    return "";
}

namespace {

/// What no command may see of this process.
std::vector<std::filesystem::path> own_of(const sdk::HostEngine::Options& where) {
    std::vector<std::filesystem::path> own{std::filesystem::absolute(where.state_dir)};
    if (!where.socket.empty()) own.push_back(where.socket);
    return own;
}

/// Worktrees are those of the providers: bindings are made by a gateway.
Result<std::unique_ptr<sdk::HostedTools>> open_commands(
    const config::GatewayConfig& config, net::EventLoop& home, core::AuditLog& audit,
    const std::vector<std::filesystem::path>& own) {
    auto worktrees = make_worktrees(config, own);
    if (!worktrees) return fail(std::move(worktrees.error()));
    return HostedCommands::open(config, std::move(*worktrees), home, audit, own);
}

Task<Result<void>> check_gateway(sdk::RemoteTrust& trust, std::string certificate_der) {
    const auto gateway = trust.caller_of(certificate_der);
    if (!gateway) co_return fail(gateway.error());
    co_return Result<void>();
}

/// Makes cron's tools with a sink that leads to `gateway`, over a Unix socket or by the host's own
/// certificate.
Result<void> send_events(sdk::HostEngine::Options& where, const std::filesystem::path& file,
                         const net::Endpoint& gateway) {
    auto addresses = net::resolve(gateway);
    if (!addresses) return fail(std::move(addresses.error()));
    net::HttpAuthority authority;
    authority.server.addresses = std::move(*addresses);
    if (!gateway.is_unix()) authority.host = gateway.text();
    const std::string component_id = where.paired ? where.paired->component_id : "cron";
    // between the two functions; the scheduler owns the sink
    const auto unconnected = std::make_shared<HttpEventSink*>(nullptr);
    where.make_tools = [=](net::EventLoop& home,
                           core::AuditLog&) -> Result<std::unique_ptr<sdk::HostedTools>> {
        auto sink = std::make_unique<HttpEventSink>(home);
        if (gateway.is_unix()) sink->connect_to(authority);
        *unconnected = sink.get();
        return HostedCron::open(file, home, std::move(sink), component_id);
    };
    if (gateway.is_unix()) return {};
    where.on_trust = [=](sdk::RemoteTrust& trust) {
        net::HttpAuthority mine = authority;
        mine.server.tls = trust.client_tls();
        mine.check_certificate = [&trust](std::string certificate_der) {
            return check_gateway(trust, std::move(certificate_der));
        };
        (*unconnected)->connect_to(std::move(mine));
    };
    return {};
}

}  // namespace

Result<sdk::HostEngine::Options> built_in_host(const BuiltInHost& host,
                                               sdk::HostEngine::Options where) {
    where.service = name_of(host.kind);
    const std::filesystem::path file = where.state_dir / (where.service + ".db");
    switch (host.kind) {
        case HostKind::kMemory:
            where.make_tools = [file](net::EventLoop& home, core::AuditLog&) {
                return HostedMemory::open(file, home.clock());
            };
            break;
        case HostKind::kCron:
            where.make_tools = [file](net::EventLoop& home, core::AuditLog&) {
                return HostedCron::open(file, home, std::make_unique<NoEventSink>());
            };
            break;
        case HostKind::kExec:
            where.make_tools = [config = host.commands, own = own_of(where)](
                                   net::EventLoop& home, core::AuditLog& audit) {
                return open_commands(config, home, audit, own);
            };
            break;
    }
    if (host.events_to) {
        if (auto sent = send_events(where, file, *host.events_to); !sent)
            return fail(std::move(sent.error()));
    }
    return where;
}

}  // namespace crab::hosting
