#pragma once

#include "base/result.hpp"
#include "net/loop/endpoint.hpp"
#include "net/tls/tls_context.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace crab::sdk {

/// Where a gateway listens, as its users write it.
struct GatewayAddress {
    net::Endpoint endpoint;
    bool tls = false;
    std::string host;    ///< the Host field
    std::string prefix;  ///< of every path; empty or `/like/this`
};

/// Where a token may travel unencrypted: to this machine only, or to any, because something else
/// encrypts.
enum class PlainReach : std::uint8_t { kThisMachine, kAnywhere };
inline PlainReach plain_reach(bool allow_plain) {
    return allow_plain ? PlainReach::kAnywhere : PlainReach::kThisMachine;
}

/// `ws://` and `http://` mean the same, and so do `wss://` and `https://`; `host[:port][/prefix]`
/// follows. `unix:/path` is the path of a socket and has no prefix. Errors: kInvalidArgs, also for
/// `ws://` and `http://` beyond `plain`.
Result<GatewayAddress> parse_gateway(std::string_view text, PlainReach plain);

/// For an address without TLS, which is quoted as `address`. Errors: kInvalidArgs for a `host`
/// beyond `plain`.
Result<void> check_plain(std::string_view address, std::string_view host, PlainReach plain);

/// What checks the gateway's certificate; null for an address without TLS. Errors: kInvalidArgs for
/// a bad `ca_file`.
Result<std::shared_ptr<net::TlsContext>> client_tls(const GatewayAddress& address,
                                                    const std::string& ca_file);

}  // namespace crab::sdk
