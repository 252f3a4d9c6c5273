#pragma once

#include "adapters/clawseed/front.hpp"
#include "base/byte_budget.hpp"
#include "config/gateway_config.hpp"
#include "console/door/console_door.hpp"
#include "core/audit/audit_log.hpp"
#include "gateway/listeners/api_document.hpp"
#include "net/http/routed_service.hpp"
#include "trust/access_tokens.hpp"
#include "trust/credential_cache.hpp"
#include "trust/request_authentication.hpp"

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

namespace crab::gateway {

/// The public listener's service on one event loop: health, metrics, and the routes of components
/// for devices, callers and browsers.
class PublicService final : public net::RoutedService<core::PrincipalRef> {
public:
    /// The arguments must outlive it. `front` decides which Hosts and Origins are allowed.
    PublicService(const clawseed::Front& front, trust::CredentialCache& credentials,
                  const core::MetricsPage& metrics, const config::ListenOptions& listen,
                  std::size_t max_body_bytes, ByteBudgets& budgets);

    /// Before anything is served: the console for other machines. It outlives this.
    void take_console(console::ConsoleDoor& door) { door_ = &door; }
    /// Before anything is served: tokens of others count as well. `tokens` outlives it.
    void take_tokens_of(trust::AccessTokens& tokens) { issued_ = &tokens; }

    Task<void> serve(net::HttpExchange& exchange) override;
    std::optional<net::Upgrade> upgrade(const net::HttpRequest& request,
                                        const net::WebSocketOffer& offer) override;
    std::optional<net::Refusal> refuse_head(const net::HttpRequest& request) override;
    net::RequestBodyLimits limits_for(const net::HttpRequest& request) override;
    /// The OpenAPI document of what is served; from any thread.
    std::string api_document() const;
    /// Admits bodies of authenticated callers, and the few bytes needed to authenticate.
    net::BodyAdmission admit_body(const net::HttpRequest& request) override;
    void refusal_body(const net::HttpRequest* request, int status, std::string_view reason,
                      std::string& body) override;

private:
    /// Body limit without a credential
    static constexpr std::size_t kMostOfGuests = 4096;
    static constexpr std::size_t kMostOfNetwork = std::size_t{16} << 20;
    static constexpr std::size_t kMostOfStrangers = std::size_t{64} << 20;

    bool is_ready() const override { return !credentials_.is_cut_off(); }
    ApiDescription description() const;
    void add_metrics_route(const core::MetricsPage& metrics);
    /// `told`: log an invalid token
    Result<trust::Proven> authenticate(const net::HttpRequest& request, bool told = true);
    /// Whether the request comes with a token that issued_ may know.
    bool is_issued(const net::HttpRequest& request) const;
    Task<void> serve_issued(net::HttpExchange& exchange);
    std::string challenge(const net::HttpRequest& request, const Error& why) const;
    std::shared_ptr<ByteBudget> budget_of_stranger(const net::HttpRequest& request);
    bool may_scrape(const net::HttpRequest& request);
    bool may_know_path(const net::RouteMatch& match, const net::HttpRequest& request);
    bool source_allowed(net::HttpExchange& exchange, const net::Route& route);

    const clawseed::Front& front_;
    const trust::CredentialCache& credentials_;
    const trust::RequestAuthentication authentication_;
    const std::size_t max_body_bytes_;
    ByteBudgets& budgets_;  ///< by principal
    /// By network: bodies of those who have proven nothing yet, who leave the others theirs
    ByteBudgets strangers_{kMostOfNetwork, kMostOfStrangers};
    /// Whether it is for the console
    bool is_for_console(const net::HttpRequest& request) const {
        return door_ != nullptr && door_->covers(request);
    }

    console::ConsoleDoor* door_ = nullptr;  ///< null: there is none
    trust::AccessTokens* issued_ = nullptr;  ///< null: only the gateway's own count
    std::string known_host_;  ///< the last Host that was accepted
};

/// The admin socket's service: health, and the routes of components for the user behind the socket.
class AdminService final : public net::RoutedService<core::PrincipalRef> {
public:
    AdminService();
    /// Before anything is served: what requests change is recorded there. It outlives this.
    void record_changes_in(core::AuditLog& audit) { audit_ = &audit; }
    /// Before anything is served: its own process may pass on what these sessions ask
    /// (`Crab-Acting`). It outlives this.
    void serve_sessions_of(console::KeptSessions& kept) { kept_ = &kept; }
    /// The OpenAPI document of what is served; from any thread.
    std::string api_document() const;
    bool knows(const net::Connection& connection) override;
    Task<void> serve(net::HttpExchange& exchange) override;
    /// Refuses requests of other origins, in case the socket is forwarded to a port that browsers
    /// reach.
    std::optional<net::Refusal> refuse_head(const net::HttpRequest& request) override;
    std::optional<net::Upgrade> upgrade(const net::HttpRequest& request,
                                        const net::WebSocketOffer& offer) override;
    net::BodyAdmission admit_body(const net::HttpRequest& request) override {
        return {.admitted = knows(*request.connection), .budget = nullptr};
    }
    void refusal_body(const net::HttpRequest* request, int status, std::string_view reason,
                      std::string& body) override;

private:
    /// The user behind the socket, or whom a door of the console says; null: nobody any more.
    core::PrincipalRef caller_of(const net::HttpRequest& request);

    std::unordered_map<unsigned, core::PrincipalRef> operators_;
    core::AuditLog* audit_ = nullptr;
    console::KeptSessions* kept_ = nullptr;  ///< null: requests act for nobody else
};

}  // namespace crab::gateway
