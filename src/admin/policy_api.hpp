#pragma once

#include "net/http/http_exchange.hpp"
#include "trust/access.hpp"

namespace crab::admin {

/// `GET /v1/admin/policy?as&action&tenant&agent&session&lease&roles`: may this principal do this
/// action now, and by which rule? Asks as if the principal had come in; asking with a lease names
/// it. Answer: {`verdict`, `rule`}.
class PolicyApi {
public:
    explicit PolicyApi(const trust::Access& access) : access_(access) {}
    /// Answers the request, or returns false when the path is none of its own.
    bool serve(net::HttpExchange& exchange);

private:
    const trust::Access& access_;
};

}  // namespace crab::admin
