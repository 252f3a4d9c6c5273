#pragma once

#include "base/result.hpp"
#include "json/schema/schema.hpp"

#include <map>
#include <string>
#include <string_view>

namespace crab::cetp {

inline constexpr std::string_view kListTools = "list_tools";
inline constexpr std::string_view kExecuteTool = "execute_tool";
inline constexpr std::string_view kProviderInfo = "get_provider_info";

using Extras = std::map<std::string, std::string, std::less<>>;

/// The one primitive: `call(address, method, extras)`. Source: docs/protocols/cetp.md, rules 5, 9,
/// 14 and 17.
struct MethodCall {
    std::string method{};
    Extras extras{};

    static MethodCall list_tools() { return {.method = std::string(kListTools)}; }
    /// `args` is a JSON object as text; `request_id` is one per logical call and stays the same in
    /// repeats (rules 14 and 48).
    static MethodCall execute_tool(std::string tool, std::string args, std::string request_id);

    /// The extra of that name, or `otherwise`.
    std::string extra(std::string_view name, std::string_view otherwise = {}) const;
    friend bool operator==(const MethodCall&, const MethodCall&) = default;
};

/// One line of JSON, without the line end: `{"method":…,"extras":{…}}` (section 3, unix).
std::string to_wire(const MethodCall& call);
/// Reads that line; extras that are not strings are ignored. Errors: kInvalidArgs for any other
/// text, kOversize.
Result<MethodCall> parse_method_call(std::string_view text);

/// The arguments of `execute_tool` as text, `{}` when there are none. Errors: kInvalidArgs, with
/// the JSON pointer, when they are not an object or violate the schema (section 7).
Result<std::string> checked_args(const MethodCall& call, const json::Schema& schema);

}  // namespace crab::cetp
