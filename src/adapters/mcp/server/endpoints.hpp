#pragma once

#include "adapters/mcp/server/endpoint.hpp"
#include "net/http/routes.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace crab::mcp {

/// `/mcp`, and `/mcp/<scope>` for each scope of the state's options; `/mcp/sse` and `/mcp/messages`
/// if they are wanted. One per event loop.
/// Source: docs/protocols/mcp.md, section 2.2.
class Endpoints {
public:
    explicit Endpoints(const Endpoint::Uses& uses);

    /// POST, GET and DELETE.
    void add_routes(net::Routes<core::PrincipalRef>& routes, Carrier carrier = Carrier::kHttp);
    /// Ends the open streams, each with its result if it has one. On the loop.
    void stop();
    /// Cancels the calls that wait for input; `done` is called when they have ended. Before this is
    /// destroyed, on the loop.
    void end(std::function<void()> done);
    /// A credential was revoked: ends what it has opened. On the loop.
    void end_credential(std::string_view credential);

private:
    using Request = net::Routes<core::PrincipalRef>::Request;
    /// Whose request it is; null when it has been answered, for there is no such scope.
    using Find = std::function<Endpoint*(const Request&)>;
    /// `path`: a constant.
    void add_routes(net::Routes<core::PrincipalRef>& routes, Carrier carrier, std::string_view path,
                    const Find& find);

    void add_sse_routes(net::Routes<core::PrincipalRef>& routes);

    const std::size_t max_request_;
    const bool legacy_sse_;
    std::map<std::string, std::unique_ptr<Endpoint>, std::less<>> all_;  ///< by scope
};

}  // namespace crab::mcp
