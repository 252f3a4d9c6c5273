#pragma once

#include "net/http/routes.hpp"
#include "trust/access.hpp"

namespace crab::admin {

/// `GET /v1/admin/policy?as&action&tenant&agent&session&lease&roles`: may this principal do this
/// action now, and by which rule? Asks as if the principal had come in; asking with a lease names
/// it. Answer: {`verdict`, `rule`}.
class PolicyApi {
public:
    explicit PolicyApi(const trust::Access& access) : access_(access) {}
    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    void decide(net::HttpExchange& exchange) const;

    const trust::Access& access_;
};

}  // namespace crab::admin
