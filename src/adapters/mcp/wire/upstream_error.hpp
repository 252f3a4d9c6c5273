#pragma once

#include "adapters/mcp/wire/revision.hpp"
#include "adapters/mcp/wire/rpc_error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// What becomes of an upstream's JSON-RPC error on its way to the client: the part of
/// docs/protocols/mcp.md, section 5, "Errors" and "URL mode", that the error alone decides.
namespace crab::mcp {

/// In `details` of a kToolFailed: an upstream's JSON-RPC error {`code`, `message`, `data`?} that
/// goes to the client as it is, in the place of a result.
inline constexpr std::string_view kRpcErrorMember = "mcp/error";

enum class UpstreamErrorUse : std::uint8_t {
    kPass,        ///< to the client, as `error` says by now
    /// Between the gateway and the upstream: corrected there (headers made anew, another version, a
    /// new session), else the call ends as an `isError` result TOOL_FAILED
    kOwn,
    kErrorResult,  ///< an `isError` result whose text is `text`
    kAskForUrls,  ///< `input_required` with the URLs of `data.elicitations`; the retry calls anew
};

struct ErrorContext {
    std::string_view method;  ///< of the request that failed
    Era upstream = Era::kLegacy;
    Revision client = Revision::k2026_07_28;
    /// Whether this client has declared what a -32021 asks for
    bool client_has_capability = false;
};

struct BridgedError {
    UpstreamErrorUse use = UpstreamErrorUse::kPass;
    RpcError error;  ///< for kPass, with the code of the client's era
    std::string text;  ///< for kErrorResult, and for kAskForUrls if they cannot be asked for
};

BridgedError bridge_error(RpcError error, const ErrorContext& context);

}  // namespace crab::mcp
