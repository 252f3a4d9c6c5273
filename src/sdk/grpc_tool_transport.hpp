#pragma once

#include "base/result.hpp"
#include "net/loop/endpoint.hpp"
#include "sdk/gateway_address.hpp"
#include "sdk/tool_transport.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace crab::sdk {

/// Where a ToolService is.
struct GrpcAddress {
    net::Endpoint endpoint;
    bool tls = false;
};

bool is_grpc_address(std::string_view text);
/// `grpc://host[:port]`, `grpcs://host[:port]` (port 50063 unless stated), `grpc+unix:/path`.
/// Errors: kInvalidArgs, also for `grpc://` beyond `plain`.
Result<GrpcAddress> parse_grpc_address(std::string_view text, PlainReach plain);

/// Calls over gRPC, from an event loop on a thread of its own. Errors: kInvalidArgs for a file that
/// cannot be used. Source: docs/protocols/sw4rm.md, section 13.
Result<std::unique_ptr<ToolTransport>> make_grpc_transport(GrpcAddress address, std::string token,
                                                           ToolClientOptions options);

}  // namespace crab::sdk
