#include "crab/tool_client.hpp"

#include "sdk/grpc_tool_transport.hpp"
#include "sdk/http_tool_transport.hpp"

#include <stdexcept>
#include <utility>

namespace crab {
namespace {

template <class T>
T or_throw(Result<T> result) {
    if (!result) throw std::invalid_argument(result.error().message);
    return *std::move(result);
}

std::unique_ptr<sdk::ToolTransport> make_transport(const std::string& gateway, std::string token,
                                                   ToolClientOptions options) {
    const sdk::PlainReach plain = sdk::plain_reach(options.allow_plain);
    if (sdk::is_grpc_address(gateway))
        return or_throw(sdk::make_grpc_transport(or_throw(sdk::parse_grpc_address(gateway, plain)),
                                                 std::move(token), std::move(options)));
    return or_throw(sdk::make_http_transport(or_throw(sdk::parse_gateway(gateway, plain)),
                                             std::move(token), std::move(options)));
}

}  // namespace

ToolClient::ToolClient(const std::string& gateway, std::string token, ToolClientOptions options)
    : transport_(make_transport(gateway, std::move(token), std::move(options))) {}
ToolClient::~ToolClient() = default;
ToolClient::ToolClient(ToolClient&&) noexcept = default;
ToolClient& ToolClient::operator=(ToolClient&&) noexcept = default;

std::expected<std::vector<ToolInfo>, ToolError> ToolClient::list() { return transport_->list(); }

CallResult ToolClient::call(const std::string& tool, const std::string& args,
                            const CallOptions& options) {
    return transport_->call(tool, args, options, nullptr);
}

CallResult ToolClient::call_stream(const std::string& tool, const std::string& args,
                                   const StreamCallbacks& callbacks, const CallOptions& options) {
    return transport_->call(tool, args, options, &callbacks);
}

std::expected<CancelStatus, ToolError> ToolClient::cancel(const std::string& call_id,
                                                          const std::string& tenant_id) {
    return transport_->cancel(call_id, tenant_id);
}

}  // namespace crab
