#pragma once

#include "load/address.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::bench {

/// `tools/call` as an MCP client sends it.
struct McpCall {
    std::string path = "/mcp";
    std::string version;  ///< the revision; 2026-07-28 has no session and says all in each request
    std::string session;  ///< of the others
    std::string tool;
};

/// A whole HTTP/1.1 request, written once; only the digits of its call id change from call to call.
class CallRequest {
public:
    /// `POST /v1/tools/call` of `tool` with `args`; without a token there is no Authorization
    /// header.
    CallRequest(const Address& to, const std::string& token, const std::string& tool,
                std::string_view args);
    /// `POST` of a JSON-RPC request to an MCP server.
    CallRequest(const Address& to, const std::string& token, const McpCall& call,
                std::string_view args);
    /// `GET path` with the same headers and no body.
    static CallRequest get(const Address& to, const std::string& token, const std::string& path);

    /// Appends the request with a call id that no other call of this machine had.
    void append_to(std::string& out);

private:
    CallRequest() = default;
    /// `digits_in_body`: where the digits are
    void write(const std::string& head, const std::string& body, std::size_t digits_in_body);

    std::string text_;
    std::size_t digits_at_ = 0;  // 0: no call id
};

}  // namespace crab::bench
