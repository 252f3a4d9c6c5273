#include "sdk/gateway_address.hpp"

#include "net/codec/url.hpp"
#include "net/loop/ip_address.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::sdk {

Result<GatewayAddress> parse_gateway(std::string_view text, PlainReach plain) {
    GatewayAddress address;
    if (text.starts_with("unix:")) {
        const auto endpoint = net::parse_endpoint(text);
        if (!endpoint) return fail(endpoint.error());
        address.endpoint = *endpoint;
        address.host = "localhost";
        return address;
    }
    const std::size_t colon = text.find("://");
    const std::string_view scheme = text.substr(0, colon == std::string_view::npos ? 0 : colon);
    if (scheme == "wss" || scheme == "https") {
        address.tls = true;
    } else if (scheme != "ws" && scheme != "http") {
        return fail(
            ErrorCode::kInvalidArgs,
            fmt::format("gateway `{}`: write ws://host:port, wss://host:port or unix:/path", text));
    }
    const std::string_view rest = text.substr(colon + 3);
    const std::string_view authority = rest.substr(0, rest.find('/'));
    const auto host = net::parse_host(authority);
    if (!host || host->host.empty() || rest.find_first_of("?# ") != std::string_view::npos) {
        return fail(
            ErrorCode::kInvalidArgs,
            fmt::format(
                "gateway `{}`: it needs a host, may have a port and a path, and nothing else",
                text));
    }
    if (!address.tls) {
        if (auto checked = check_plain(text, host->host, plain); !checked)
            return fail(std::move(checked.error()));
    }
    address.endpoint =
        net::Endpoint::tcp(std::string(host->host), host->port.value_or(address.tls ? 443 : 80));
    address.host = authority;
    address.prefix = rest.substr(authority.size());
    while (address.prefix.ends_with('/')) address.prefix.pop_back();
    return address;
}

Result<void> check_plain(std::string_view address, std::string_view host, PlainReach plain) {
    if (plain == PlainReach::kAnywhere || net::names_loopback(host)) return {};
    return fail(ErrorCode::kInvalidArgs,
                fmt::format("{}: beyond this machine use TLS (https://, wss://, grpcs://), or the "
                            "token could be read on the way; allow_plain (--allow-plain) where "
                            "something else encrypts",
                            address));
}

Result<std::shared_ptr<net::TlsContext>> client_tls(const GatewayAddress& address,
                                                    const std::string& ca_file) {
    if (!address.tls) return nullptr;
    net::TlsContext::Options options;
    options.role = net::TlsContext::Role::kClient;
    options.peer_check = net::TlsContext::PeerCheck::kChainAndName;
    options.ca.file = ca_file;
    return net::TlsContext::make(std::move(options));
}

}  // namespace crab::sdk
