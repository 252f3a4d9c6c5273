#include "cli/gateway_endpoint.hpp"

#include "config/load.hpp"
#include "config/paths.hpp"
#include "net/codec/url.hpp"
#include "sdk/gateway_address.hpp"

#include <unistd.h>

namespace crab::cli {
namespace {

/// The socket of a service that root started, when root's own has nobody behind it.
constexpr const char* kServiceSocket = "/run/crab/admin.sock";

}  // namespace

Result<std::filesystem::path> find_socket(const Target& target,
                                          const config::Environment& environment) {
    const config::Paths paths = config::Paths::find(false, ::getuid(), environment);
    std::error_code ignored;
    if (!target.config.empty() && !std::filesystem::exists(target.config, ignored))
        return fail(config::load_first(target.config, paths).error());
    // A configuration that does not load (its secrets may be the service's) still leaves the
    // default socket.
    const config::GatewayConfig config =
        config::load_first(target.config, paths).value_or(config::GatewayConfig{});
    const std::filesystem::path socket =
        config::client_socket(target.socket, config, paths, environment);
    std::error_code error;
    const bool by_default = socket == paths.admin_socket_of({});
    return by_default && !std::filesystem::exists(socket, error) &&
                   std::filesystem::exists(kServiceSocket, error)
               ? kServiceSocket
               : socket;
}

Result<GatewayEndpoint> find_gateway(const Target& target) {
    GatewayEndpoint place;
    if (target.url.empty()) {
        const auto socket = find_socket(target);
        if (!socket) return fail(socket.error());
        place.text = socket->string();
        place.endpoint = net::Endpoint::unix_socket(place.text);
        return place;
    }
    std::string_view rest = target.url;
    const bool secure = rest.starts_with("https://");
    if (!secure && !rest.starts_with("http://"))
        return fail(ErrorCode::kInvalidArgs, "--url has to start with http:// or https://");
    rest.remove_prefix(secure ? 8 : 7);
    const std::string_view authority = rest.substr(0, rest.find('/'));
    std::string_view path = rest.substr(authority.size());
    while (path.ends_with('/')) path.remove_suffix(1);
    const auto host = net::parse_host(authority);
    if (!host)
        return fail(ErrorCode::kInvalidArgs, "--url has no valid host; write http://host:port");
    if (!secure) {
        const auto plain = sdk::plain_reach(target.allow_plain);
        if (auto checked = sdk::check_plain(target.url, host->host, plain); !checked)
            return fail(std::move(checked.error()));
    } else {
        net::TlsContext::Options options{.role = net::TlsContext::Role::kClient,
                                         .peer_check = net::TlsContext::PeerCheck::kChainAndName};
        options.ca.file = target.ca_file;
        auto tls = net::TlsContext::make(std::move(options));
        if (!tls) return fail(tls.error());
        place.tls = std::move(*tls);
    }
    place.endpoint =
        net::Endpoint::tcp(std::string(host->host), host->port.value_or(secure ? 443 : 80));
    place.host = authority;
    place.server_name = host->host;
    place.prefix = path;
    place.token = target.token;
    place.text = target.url;
    return place;
}

Result<std::filesystem::path> find_state_dir(const std::filesystem::path& config_file,
                                             bool system) {
    const config::Paths paths = config::Paths::find(system, ::getuid());
    const auto config = config::load_first(config_file, paths);
    if (!config) return fail(config.error());
    return paths.state_dir_of(*config);
}

}  // namespace crab::cli
