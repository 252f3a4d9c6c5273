#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/terminal.hpp"
#include "config/load.hpp"
#include "config/paths.hpp"
#include "crypto/key_text.hpp"
#include "hosting/host_run.hpp"
#include "hosting/hosted_commands.hpp"
#include "trust/pairing/peer_name.hpp"

#include <unistd.h>

#include <fmt/format.h>

namespace crab::cli {
namespace {

Result<sdk::HostEngine::Paired> paired_of(const RunHost& options) {
    auto endpoint = net::parse_endpoint(options.listen);
    if (!endpoint || endpoint->is_unix())
        return fail(ErrorCode::kInvalidArgs, "--listen: write host:port, such as 0.0.0.0:7443");
    sdk::HostEngine::Paired paired{
        .endpoint = std::move(*endpoint), .component_id = options.component_id, .gateway_key = {}};
    if (paired.component_id.empty()) paired.component_id = name_of(options.kind);
    if (!trust::is_component_id(paired.component_id)) {
        return fail(ErrorCode::kInvalidArgs,
                    "--id: 1-64 characters of letters, digits, `.`, `_` and `-`, the first a "
                    "letter or digit");
    }
    const auto key = crypto::from_base64_exact<32>(options.gateway_key);
    if (!key)
        return fail(
            ErrorCode::kInvalidArgs,
            "--gateway-key: give the base64 text that crab peers identity prints at the gateway");
    paired.gateway_key = *key;
    if (!options.pair_path.empty()) paired.pair_path = options.pair_path;
    if (!options.tls_ca.empty())
        paired.operator_made = sdk::OperatorFiles{
            .ca = options.tls_ca, .cert = options.tls_cert, .key = options.tls_key};
    if (!paired.pair_path.starts_with('/'))
        return fail(ErrorCode::kInvalidArgs, "--pair-path: begin it with /");
    return paired;
}

/// `unix:/path` of an admin socket, or, for a host that is paired, `https://host:port` of a peer
/// listener.
Result<net::Endpoint> gateway_of(std::string_view url, bool paired) {
    constexpr std::string_view kHttps = "https://";
    if (url.starts_with("unix:/")) return net::parse_endpoint(url);
    if (!url.starts_with(kHttps))
        return fail(ErrorCode::kInvalidArgs,
                    "--events-to: write unix:/PATH of an admin socket, or https://HOST:PORT of a "
                    "peer listener");
    if (!paired)
        return fail(ErrorCode::kInvalidArgs,
                    "--events-to: https needs the certificate of a pairing; listen with --listen, "
                    "or write unix:/PATH");
    url.remove_prefix(kHttps.size());
    if (url.ends_with('/')) url.remove_suffix(1);
    auto endpoint = net::parse_endpoint(url);
    if (!endpoint || endpoint->is_unix())
        return fail(ErrorCode::kInvalidArgs, "--events-to: write https://HOST:PORT");
    return endpoint;
}

}  // namespace

int run(const RunHost& options) {
    sdk::HostEngine::Options where;
    where.state_dir = options.state_dir;
    if (where.state_dir.empty())
        where.state_dir =
            config::Paths::find(false, ::getuid()).state_dir / "hosts" / name_of(options.kind);
    if (!options.socket.empty()) {
        where.socket = std::filesystem::absolute(options.socket);
    } else if (options.listen.empty()) {
        return wrong_usage(
            "say where to listen: --unix PATH, or --listen HOST:PORT with --gateway-key");
    } else {
        auto paired = paired_of(options);
        if (!paired) return wrong_usage(paired.error().message);
        where.paired = std::move(*paired);
    }
    hosting::BuiltInHost what{.kind = options.kind, .events_to = {}, .commands = {}};
    if (!options.events_to.empty()) {
        auto gateway = gateway_of(options.events_to, where.paired.has_value());
        if (!gateway) return wrong_usage(gateway.error().message);
        what.events_to = std::move(*gateway);
    }
    if (options.kind == hosting::HostKind::kExec) {
        auto config = config::load_file(options.config);
        if (!config) return wrong_usage(config.error().message);
        if (!hosting::has_commands(*config))
            return wrong_usage(
                fmt::format("{}: no provider of kind command is there; add one under providers:",
                            options.config.string()));
        what.commands = std::move(*config);
    }
    return hosting::run_host(what, where);
}

}  // namespace crab::cli
