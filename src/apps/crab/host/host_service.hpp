#pragma once

#include "adapters/rtp/tools_api.hpp"
#include "net/http_service.hpp"

#include <string>
#include <unordered_map>

namespace crab::app {

/// What a tool host serves on its Unix socket, to the user who runs it: health, discovery, calls, cancels.
/// Source: docs/protocols/rtp.md, sections 1 to 3.
class HostService final : public net::HttpService {
public:
    explicit HostService(rtp::ToolsApi& tools) : tools_(tools) {}
    Task<void> serve(net::HttpExchange& exchange) override;
    void refusal_body(const net::HttpRequest* request, int status, std::string_view reason, std::string& body) override;
    /// From here on no call is taken, and `/healthz` says so.
    void stop() { stopping_ = true; }

private:
    rtp::ToolsApi& tools_;
    std::unordered_map<unsigned, core::PrincipalRef> callers_;   ///< by user id
    bool stopping_ = false;
};

}  // namespace crab::app
