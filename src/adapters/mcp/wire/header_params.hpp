#pragma once

#include "json/element.hpp"

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Arguments of a tool that a modern HTTP request repeats in `Mcp-Param-*` headers, because the
/// tool's `inputSchema` declares `x-mcp-header`. Source: docs/protocols/mcp.md, section 2.3.
namespace crab::mcp {

inline constexpr std::string_view kParamHeader = "Mcp-Param-";

/// One declaration.
struct HeaderParam {
    enum class Type : std::uint8_t { kString, kInteger, kBoolean };

    std::string name;               ///< of the header, behind `Mcp-Param-`
    std::vector<std::string> path;  ///< from the arguments' root through `properties`
    Type type = Type::kString;
};

/// All declarations of a schema, in its order; none for a schema without any.
/// Errors: a sentence with the pointer, for a schema that breaks the rules: no HTTP token, a name
/// twice without regard to case, another type than string, integer, boolean, or a place to which
/// not `properties` alone lead. Such a tool is left out of lists by an HTTP client.
std::expected<std::vector<HeaderParam>, std::string> read_header_params(json::Element input_schema);

/// Names and encoded values.
using HeaderLines = std::vector<std::pair<std::string, std::string>>;
/// The headers to send with `arguments` (any value; none for absent ones and null).
HeaderLines make_param_headers(const std::vector<HeaderParam>& params,
                               std::optional<json::Element> arguments);

/// Looks a header up without regard to case; nothing when the request has none.
using FindHeader = std::function<std::optional<std::string_view>(std::string_view)>;
/// Whether the headers of a request say what its arguments say. Undeclared ones are ignored.
/// Errors: a sentence for -32020: one that is missing, malformed, unequal, or whose property has no
/// value.
std::expected<void, std::string> check_param_headers(const std::vector<HeaderParam>& params,
                                                     std::optional<json::Element> arguments,
                                                     const FindHeader& find);

}  // namespace crab::mcp
