#pragma once

#include "base/byte_budget.hpp"
#include "gateway/listeners/api_document.hpp"
#include "gateway/stored/peer_certificates.hpp"
#include "net/http/routed_service.hpp"
#include "trust/access.hpp"

#include <string>
#include <string_view>

namespace crab::gateway {

/// The peer listener's service: the routes of components for paired peers, as far as the policy
/// grants them the action of a route. Callers are authenticated by certificate before a body is
/// read. On one event loop. Source: docs/protocols/rtp.md, sections 1, 6 and 8.
class PeerService final : public net::RoutedService<core::PrincipalRef> {
public:
    /// Must outlive the service.
    struct Services {
        PeerCertificates::Services certificates;
        const trust::Access& access;
        ByteBudgets& budgets;  ///< by principal
    };
    explicit PeerService(const Services& services);
    /// The OpenAPI document of what is served; from any thread.
    std::string api_document() const;

    bool knows(const net::Connection& connection) override {
        return certificates_.proves(connection.peer_certificate_der());
    }
    Task<void> serve(net::HttpExchange& exchange) override;
    std::optional<net::Refusal> refuse_head(const net::HttpRequest& request) override;
    std::optional<net::Upgrade> upgrade(const net::HttpRequest& request,
                                        const net::WebSocketOffer& offer) override;
    net::BodyAdmission admit_body(const net::HttpRequest& request) override;
    void refusal_body(const net::HttpRequest* request, int status, std::string_view reason,
                      std::string& body) override;

private:
    bool allows(net::HttpExchange& exchange, const core::Principal& principal,
                std::string_view action) const;

    const trust::Access& access_;
    ByteBudgets& budgets_;
    PeerCertificates certificates_;
};

}  // namespace crab::gateway
