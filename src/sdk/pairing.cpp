#include "crab/device.hpp"

#include "json/value.hpp"
#include "net/blocking_client.hpp"
#include "sdk/gateway_address.hpp"
#include "sdk/wire_error.hpp"

#include <fmt/format.h>

namespace crab {
namespace {

std::unexpected<ToolError> refused(ErrorCode code, std::string message) {
    return std::unexpected(ToolError{.code = std::string(token_of(code)), .message = std::move(message)});
}

}  // namespace

std::expected<std::string, ToolError> pair_device(const std::string& gateway, const std::string& code, const std::string& ca_file) {
    const auto address = sdk::parse_gateway(gateway);
    if (!address) return std::unexpected(sdk::to_tool_error(address.error()));
    auto tls = sdk::client_tls(*address, ca_file);
    if (!tls) return std::unexpected(sdk::to_tool_error(tls.error()));

    net::BlockingClient::Options options;
    options.tls = std::move(*tls);
    options.host_header = address->host;
    options.max_body_bytes = 64 * 1024;
    net::BlockingClient client(address->endpoint, options);
    net::ClientRequest request;
    request.method = "POST";
    request.target = address->prefix + "/pair";
    request.headers = {{"X-Pairing-Code", code}};
    const auto answer = client.send(request);
    if (!answer) return std::unexpected(sdk::to_tool_error(answer.error()));
    switch (answer->status) {
        case 200: break;
        case 403: return refused(ErrorCode::kPairingFailed, "the gateway does not know this code; codes work once and last five minutes");
        case 404: return refused(ErrorCode::kPairingFailed, "no pairing code is open at the gateway; make one there with `crab devices pair`");
        case 429: return refused(ErrorCode::kRateLimited, "too many pairing attempts; wait a minute");
        default: return refused(ErrorCode::kPairingFailed, fmt::format("the gateway answered {} to the pairing code", answer->status));
    }
    const auto body = json::Value::parse(answer->body);
    const json::Value* token = body ? body->find("token") : nullptr;
    const std::string* text = token != nullptr ? token->as_string() : nullptr;
    if (text == nullptr || text->empty()) return refused(ErrorCode::kPairingFailed, "the gateway's answer holds no token");
    return *text;
}

}  // namespace crab
