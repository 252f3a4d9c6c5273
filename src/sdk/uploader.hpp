#pragma once

#include "base/result.hpp"
#include "net/tls/tls_context.hpp"
#include "sdk/call_state.hpp"
#include "sdk/device_frames.hpp"
#include "sdk/gateway_address.hpp"

#include "crab/tool_answer.hpp"

#include <memory>
#include <mutex>
#include <string>

namespace crab::sdk {

/// Sends large results to the gateway, each on a connection of its own, before the call is
/// answered. Thread-safe; upload() blocks. Source: docs/protocols/clawseed.md, section 9, "Large
/// results".
class Uploader {
public:
    Uploader(GatewayAddress address, std::shared_ptr<net::TlsContext> tls)
        : address_(std::move(address)), tls_(std::move(tls)) {}

    /// What the link authenticates with now.
    void set_token(std::string token);
    /// The artifact's id. A connection that breaks is tried again twice, and so is a gateway that
    /// is busy, until the call's deadline; a cancelled call ends it. Errors: kOversize, else
    /// kInternal: the tool has run, so none says that it had no effect.
    Result<std::string> upload(const UploadTerms& terms, CallState& call, const ToolAnswer& answer);

private:
    const GatewayAddress address_;
    const std::shared_ptr<net::TlsContext> tls_;
    std::mutex mutex_;
    std::string token_;
};

}  // namespace crab::sdk
