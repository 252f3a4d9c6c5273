#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::cetp {

constexpr std::size_t kMaxToolsOfProvider = 64;
constexpr std::size_t kMaxDescription = std::size_t{8} << 10;  ///< bytes; the rest is cut
constexpr std::size_t kMaxParameters = std::size_t{64} << 10;  ///< bytes of JSON; beyond: the element is dropped

/// A tool as its provider declares it.
struct DeclaredTool {
    std::string name;         ///< the provider's own, bare name; any text but empty
    std::string description;  ///< may be empty
    std::string parameters;   ///< a JSON Schema that compiles, an object, as JSON text
    friend bool operator==(const DeclaredTool&, const DeclaredTool&) = default;
};

/// The `data` of `list_tools` (rule 9).
std::string to_wire(std::span<const DeclaredTool> tools);

struct ToolList {
    std::vector<DeclaredTool> tools;       ///< at least one
    std::vector<std::string> diagnostics;  ///< what was dropped and why
};

/// Understands the `data` of `list_tools`. Source: docs/protocols/cetp.md, rules 9 to 13.
/// Errors: kInvalidArgs when it does not parse, has no `tools`, or no usable one: the provider is then not listed.
Result<ToolList> parse_tool_list(std::string_view data);

/// What a provider says about itself (rule 17); every part may be empty.
struct ProviderInfo {
    struct Scope {
        std::string name, description;
        friend bool operator==(const Scope&, const Scope&) = default;
    };
    std::string name{}, description{};
    std::vector<Scope> scopes{};
};
/// Errors: kInvalidArgs for what is no JSON object.
Result<ProviderInfo> parse_provider_info(std::string_view data);

}  // namespace crab::cetp
