#pragma once

#include "adapters/mcp/server/catalog_lists.hpp"
#include "adapters/mcp/server/client_request.hpp"
#include "adapters/mcp/server/server_state.hpp"
#include "adapters/mcp/server/tool_lists.hpp"
#include "adapters/mcp/wire/result_uris.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::mcp {

/// How a method is served.
enum class MethodKind : std::uint8_t {
    kUnknown,  ///< also one that the era does not have
    kNow,      ///< by Methods::answer()
    kCall,     ///< by ToolCalls::run()
    kTask,     ///< by ToolCalls::about_task()
    kListen,   ///< `subscriptions/listen`
    kOpening,  ///< `initialize`
};
MethodKind kind_of(std::string_view method, Era era);

/// The methods that are answered at once. One per event loop.
class Methods {
public:
    Methods(ServerState& state, ToolLists& lists, CatalogLists& catalogs, ResourceWatches& watches)
        : state_(state), lists_(lists), catalogs_(catalogs), watches_(watches) {}

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
    Reply list_resources(const ClientRequest& request, std::string_view member);
    Reply list_prompts(const ClientRequest& request);
    template <class Items, class Append>
    Reply list_page(const ClientRequest& request, std::string_view member, const Items& items,
                    Append append, std::string_view meta = {});
    Reply subscribe(const ClientRequest& request);
    Reply unsubscribe(const ClientRequest& request);
    MapUri known_page(const ClientRequest& request, const CatalogView& catalogs,
                      const std::string& source);
    std::string cursor_owner(const ClientRequest& request) const;
    void add_instructions(std::string& object, const CatalogView& view,
                          const core::PrincipalRef& principal);

    ServerState& state_;
    ToolLists& lists_;
    CatalogLists& catalogs_;
    ResourceWatches& watches_;
    std::size_t page_bytes_ = 0;  ///< about what the next page of a list will have
};

}  // namespace crab::mcp
