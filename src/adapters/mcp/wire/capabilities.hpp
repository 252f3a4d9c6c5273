#pragma once

#include "adapters/mcp/wire/revision.hpp"

#include <string>
#include <string_view>

/// Capability objects of both directions. Source: docs/protocols/mcp.md, sections 3.1, 4.7, 4.8.
namespace crab::mcp {

inline constexpr std::string_view kTasksExtension = "io.modelcontextprotocol/tasks";
inline constexpr std::string_view kUiExtension = "io.modelcontextprotocol/ui";

/// What the gateway declares as a server: always the same for a revision, though lists may be
/// empty. `has_ui`: an upstream of the caller's view has the extension.
std::string server_capabilities(Revision revision, bool has_ui);

/// What an upstream may ask a client for (`ask` of its configuration).
struct Ask {
    bool elicitation = true;
    bool sampling = false;
    bool roots = false;
};

/// What a client declares, as far as the gateway asks.
struct ClientCapabilities {
    bool form = false, url = false;  ///< elicitation; `{}` means form
    bool sampling = false, sampling_tools = false, sampling_context = false;
    bool roots = false, roots_changed = false;
    bool tasks_extension = false;

    friend bool operator==(const ClientCapabilities&, const ClientCapabilities&) = default;
};
/// `capabilities`: an object that a parser has accepted, or empty.
ClientCapabilities read_client_capabilities(std::string_view capabilities);

/// What the gateway declares to an upstream in the name of a client: what the client has, what
/// `ask` allows, and what the upstream's revision knows; never more than can be answered.
/// `capabilities.tasks_extension` says whether tasks can be taken, whoever waits for them.
std::string upstream_capabilities(const ClientCapabilities& capabilities, const Ask& ask,
                                  Revision upstream);

}  // namespace crab::mcp
