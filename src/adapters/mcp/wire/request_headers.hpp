#pragma once

#include "adapters/mcp/wire/header_params.hpp"
#include "json/element.hpp"
#include "net/codec/http_head.hpp"

#include <expected>
#include <optional>
#include <string>
#include <string_view>

/// The headers of a modern request that repeat its method and what it is about.
/// Source: docs/protocols/mcp.md, section 2.3.
namespace crab::mcp {

inline constexpr std::string_view kVersionHeader = "MCP-Protocol-Version";
inline constexpr std::string_view kMethodHeader = "Mcp-Method";
inline constexpr std::string_view kNameHeader = "Mcp-Name";

/// As fields are looked up.
inline constexpr std::string_view kVersionField = "mcp-protocol-version";
inline constexpr std::string_view kSessionField = "mcp-session-id";

/// The member of `params` that `Mcp-Name` repeats; empty for methods that need no such header.
std::string_view named_param(std::string_view method);

/// The fields that a POST is looked at for, all found in one walk.
struct PostFields {
    std::optional<std::string_view> content_type, accept, session, version, method, name;
    /// One of MCP's fields that is there twice, of which who stands between the client and here
    /// could take the other one; empty: there is none. `Mcp-Session-Id` means nothing to modern
    /// requests, and is not among them.
    std::string_view twice;

    static PostFields read(const net::HeaderList& fields);

private:
    std::optional<std::string_view>* slot_of(std::string_view field);
};

/// Errors: a sentence for -32020 when a field is there twice.
std::expected<void, std::string> check_fields_once(const PostFields& fields);
/// Errors: a sentence for -32020 when `Mcp-Method` is missing, malformed, or not `method` in the
/// same case.
std::expected<void, std::string> check_method_header(std::optional<std::string_view> header,
                                                     std::string_view method);
/// The same for `Mcp-Name`, which comes before what `params` lack; methods without one ignore it.
std::expected<void, std::string> check_name_header(std::optional<std::string_view> header,
                                                   std::string_view method,
                                                   std::optional<json::Element> params);

}  // namespace crab::mcp
