#pragma once

#include "adapters/mcp/server/catalog_lists.hpp"
#include "adapters/mcp/server/client_request.hpp"
#include "adapters/mcp/server/resource_links.hpp"
#include "adapters/mcp/server/tool_lists.hpp"

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

namespace crab::mcp {

enum class CallShape : std::uint8_t {
    kTool,      ///< `tools/call`
    kRead,      ///< `resources/read`
    kGet,       ///< `prompts/get`
    kComplete,  ///< `completion/complete`
    kArtifact,  ///< `resources/read` of a large result, which is kept here
};

/// What a request asks to be run.
struct CallPlan {
    CallShape shape = CallShape::kTool;
    std::string tool;  ///< by which the pipeline finds it
    /// Of a tool that is not there now, which may have been, or may come: what it has to be in;
    /// null: any
    const core::ToolScope* scope = nullptr;
    std::string_view given_args{};  ///< into the request's params
    bool inner_args = false;  ///< given_args are inside of the request's own arguments
    std::string made_args{};  ///< in their place, if not empty
    std::string about{};  ///< the URI or name that the client asked for
    std::string key{};  ///< the same in the source's own form; of kArtifact its id
    std::shared_ptr<const CatalogView> view{};

    std::string_view args() const {
        return made_args.empty() ? given_args : std::string_view(made_args);
    }
};

/// Of a request that is not planned: for the form of its errors.
CallPlan unplanned(const ClientRequest& request);
ClientIdentity client_of(const ClientRequest& request);
/// What the request and its plan say of the call; all of it, `client` too, lives as long.
void fill_call(core::Call& call, const ClientRequest& request, const CallPlan& plan,
               const ClientIdentity& client);

/// Makes calls of the methods that are calls. One per event loop.
/// Source: docs/protocols/mcp.md, sections 3.2, 4.1, 7.1, 7.5.
class CallPlans {
public:
    CallPlans(ToolLists& tools, CatalogLists& catalogs, const ResourceLinks& links)
        : tools_(tools), catalogs_(catalogs), links_(links) {}

    /// Errors: what to answer at once, which need not be an error.
    std::expected<CallPlan, Reply> plan(const ClientRequest& request);
    /// Whether its plan would be of kArtifact, which is no call.
    static bool reads_artifact(const ClientRequest& request);

private:
    using Planned = std::expected<CallPlan, Reply>;
    Planned plan_tool(const ClientRequest& request);
    Planned plan_read(const ClientRequest& request);
    Planned plan_get(const ClientRequest& request);
    Planned plan_completion(const ClientRequest& request);
    void plan_absent(CallPlan& plan) const;
    CatalogView::Found find_resource(const ClientRequest& request, const CatalogView& view,
                                     std::string_view uri) const;

    ToolLists& tools_;
    CatalogLists& catalogs_;
    const ResourceLinks& links_;
};

}  // namespace crab::mcp
