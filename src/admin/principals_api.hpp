#pragma once

#include "base/clock.hpp"
#include "core/call/principal.hpp"
#include "net/http/routes.hpp"
#include "trust/tokens.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crab::admin {

/// A principal without tokens: an agent, or a paired peer.
struct OtherPrincipal {
    std::string id, name;
    core::Roles roles;
    std::optional<SystemTime> last_seen{};
};

/// `GET /v1/admin/principals`: who may come in, with which roles and credentials, of which nothing
/// secret is shown. One, on the admin socket's event loop.
class PrincipalsApi {
public:
    struct Services {
        const trust::Tokens& tokens;
        std::function<std::vector<OtherPrincipal>()> agents, peers;
    };
    explicit PrincipalsApi(Services services) : services_(std::move(services)) {}

    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    using Request = net::Routes<core::PrincipalRef>::Request;

    void list(const Request& request) const;

    const Services services_;
};

}  // namespace crab::admin
