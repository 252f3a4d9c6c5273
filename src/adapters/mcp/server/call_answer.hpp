#pragma once

#include "adapters/mcp/server/call_plan.hpp"
#include "adapters/mcp/server/client_request.hpp"
#include "adapters/mcp/server/resource_links.hpp"
#include "core/call/inquirer.hpp"
#include "core/pipeline/pipeline.hpp"

#include <optional>
#include <string>
#include <vector>

namespace crab::mcp {

/// What a call has come to, in the form of the client's revision, without a request's id: several
/// requests may be answered with it.
struct CallAnswer {
    std::string result{};  ///< an object in its form already
    std::optional<RpcError> error{};  ///< in the place of the result
    int status = 0;  ///< of HTTP, if the code alone does not say it

    static CallAnswer of_error(RpcError error, int status = 0) {
        return {.error = std::move(error), .status = status};
    }
    Reply reply(const ClientRequest& request) const& { return CallAnswer(*this).taken_by(request); }
    Reply reply(const ClientRequest& request) && { return taken_by(request); }

private:
    Reply taken_by(const ClientRequest& request);
};

/// The answer to a request whose call has ended. Links that the result holds are remembered.
/// `room`: an empty text to write into. Source: docs/protocols/mcp.md, sections 4.3, 7.2, 7.5.
CallAnswer answer_of(const ClientRequest& request, const CallPlan& plan, const core::Call& call,
                     const core::CallEnd& end, ResourceLinks& links, std::string room = {});
/// The URLs that somebody has to open before a call that ended so can succeed (-32042 of an
/// upstream), as questions for a modern client, which see to it before the answer; else empty.
std::vector<core::Question> urls_to_open(const ClientRequest& request, const core::CallEnd& end);
/// An error of the gateway in the form that this shape of call has for it.
CallAnswer answer_of_error(const ClientRequest& request, const CallPlan& plan, const Error& error,
                           std::string_view meta = {});

}  // namespace crab::mcp
