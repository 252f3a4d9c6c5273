#pragma once

#include "adapters/mcp/server/client_request.hpp"
#include "adapters/mcp/server/server_state.hpp"
#include "adapters/mcp/server/tool_lists.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::mcp {

/// How a method is served.
enum class MethodKind : std::uint8_t {
    kUnknown,  ///< also one that the era does not have
    kNow,      ///< by Methods::answer()
    kCall,     ///< `tools/call`
    kListen,   ///< `subscriptions/listen`
    kOpening,  ///< `initialize`
};
MethodKind kind_of(std::string_view method, Era era);

/// What the gateway declares to clients of a revision.
std::string declared_capabilities(Revision revision);

/// The methods that are answered at once. One per event loop.
class Methods {
public:
    Methods(ServerState& state, ToolLists& lists) : state_(state), lists_(lists) {}

    /// Answers a request of kind kNow.
    Reply answer(const ClientRequest& request);
    /// The result of `initialize` for the session that it has opened.
    Reply opened(const ClientRequest& request);
    /// `-32601`.
    static Reply unknown_method(const ClientRequest& request);

private:
    Reply discover(const ClientRequest& request);
    Reply list_tools(const ClientRequest& request);
    Reply set_level(const ClientRequest& request);
    /// Of resources and prompts: those of upstreams will be their source.
    Reply empty_list(const ClientRequest& request, std::string_view member);
    Reply not_there(const ClientRequest& request);
    std::string cursor_owner(const ClientRequest& request) const;
    void add_instructions(std::string& object) const;

    ServerState& state_;
    ToolLists& lists_;
};

}  // namespace crab::mcp
