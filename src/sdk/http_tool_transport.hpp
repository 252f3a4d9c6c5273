#pragma once

#include "sdk/gateway_address.hpp"
#include "sdk/tool_transport.hpp"

#include <memory>
#include <string>

namespace crab::sdk {

/// Calls over HTTP. Errors: kInvalidArgs for a CA file that cannot be used. Source:
/// docs/protocols/rtp.md, sections 2 and 3.
Result<std::unique_ptr<ToolTransport>> make_http_transport(GatewayAddress address,
                                                           std::string token,
                                                           ToolClientOptions options);

}  // namespace crab::sdk
