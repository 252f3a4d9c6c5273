#include "crab/device.hpp"

#include "sdk/device_identity.hpp"
#include "sdk/wire_error.hpp"

namespace crab {

std::expected<std::string, ToolError> pair_device(const std::string& gateway,
                                                  const std::string& code,
                                                  const std::string& ca_file, bool allow_plain) {
    auto address = sdk::parse_gateway(gateway, sdk::plain_reach(allow_plain));
    if (!address) return std::unexpected(sdk::to_tool_error(address.error()));
    auto tls = sdk::client_tls(*address, ca_file);
    if (!tls) return std::unexpected(sdk::to_tool_error(tls.error()));
    const sdk::GatewayRoute route{.address = *std::move(address), .tls = *std::move(tls)};
    auto paired = sdk::pair_with_code(route, code, std::nullopt);
    if (!paired) return std::unexpected(sdk::to_tool_error(paired.error()));
    return std::move(paired->token);
}

}  // namespace crab
