#pragma once

#include "net/http/routes.hpp"
#include "trust/access.hpp"

namespace crab::admin {

/// `GET /v1/admin/policy?as&action&tenant&agent&session&lease&roles`: may this principal do this
/// action now, and by which rule? Evaluates the policy for the principal as if it were connected; a
/// lease counts as named. Answer: {`verdict`, `rule`}.
class PolicyApi {
public:
    explicit PolicyApi(const trust::Access& access) : access_(access) {}
    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    void decide(net::HttpExchange& exchange) const;

    const trust::Access& access_;
};

}  // namespace crab::admin
