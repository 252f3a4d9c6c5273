#include "load/call_request.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>

namespace crab::bench {
namespace {

constexpr std::size_t kDigits = 12;
constexpr std::string_view kModern = "2026-07-28";
std::uint64_t next_call = 0;  // all requests of the process share it

std::string headers(const std::string& first_line, const Address& to, const std::string& token) {
    std::string text = first_line + " HTTP/1.1\r\nHost: " + to.authority() + "\r\n";
    if (!token.empty()) text += "Authorization: Bearer " + token + "\r\n";
    return text;
}

}  // namespace

CallRequest::CallRequest(const Address& to, const std::string& token, const std::string& tool,
                         std::string_view args) {
    const auto run = std::chrono::system_clock::now().time_since_epoch().count();
    std::string body = R"({"version":"v1","call_id":"bench-)" + std::to_string(getpid()) + "-" +
                       std::to_string(run) + "-";
    const std::size_t digits_in_body = body.size();
    body += std::string(kDigits, '0') + R"(","tool_name":")" + tool +
            R"(","tenant_id":"default","args":)" + std::string(args) +
            R"(,"context":{"agent_id":"bench","session_id":"bench"}})";
    write(headers("POST /v1/tools/call", to, token), body, digits_in_body);
}

CallRequest::CallRequest(const Address& to, const std::string& token, const McpCall& call,
                         std::string_view args) {
    const bool modern = call.version == kModern;
    std::string head = headers("POST " + call.path, to, token) +
                       "Accept: application/json, text/event-stream\r\n"
                       "MCP-Protocol-Version: " +
                       call.version + "\r\n";
    if (!call.session.empty()) head += "Mcp-Session-Id: " + call.session + "\r\n";
    if (modern) head += "Mcp-Method: tools/call\r\nMcp-Name: " + call.tool + "\r\n";
    std::string body = R"({"jsonrpc":"2.0","id":1)";  // a number does not begin with 0
    const std::size_t digits_in_body = body.size();
    body += std::string(kDigits, '0') + R"(,"method":"tools/call","params":{"name":")" + call.tool +
            R"(","arguments":)" + std::string(args);
    if (modern)
        body += R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":")" + call.version +
                R"(","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},)"
                R"("io.modelcontextprotocol/clientCapabilities":{}})";
    write(head, body + "}}", digits_in_body);
}

void CallRequest::write(const std::string& head, const std::string& body,
                        std::size_t digits_in_body) {
    text_ = head +
            "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
            "\r\n\r\n";
    digits_at_ = text_.size() + digits_in_body;
    text_ += body;
}

CallRequest CallRequest::get(const Address& to, const std::string& token, const std::string& path) {
    CallRequest request;
    request.text_ = headers("GET " + path, to, token) + "\r\n";
    return request;
}

void CallRequest::append_to(std::string& out) {
    const std::size_t start = out.size();
    out.append(text_);
    if (digits_at_ == 0) return;
    std::uint64_t number = ++next_call;
    for (std::size_t digit = kDigits; digit-- > 0; number /= 10)
        out[start + digits_at_ + digit] = static_cast<char>('0' + number % 10);
}

}  // namespace crab::bench
