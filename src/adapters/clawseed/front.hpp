#pragma once

#include "adapters/clawseed/device_session.hpp"
#include "adapters/clawseed/hub.hpp"
#include "core/pipeline/pipeline.hpp"
#include "json/parser.hpp"
#include "net/http/routes.hpp"
#include "trust/device_keys.hpp"
#include "trust/pairing_codes.hpp"
#include "trust/request_authentication.hpp"
#include "trust/tokens.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace crab::clawseed {

/// Data for `/api/status` that the hub does not have.
struct StatusFacts {
    SteadyTime started;
    std::uint16_t port = 0;
};

/// The answer when Hub::open_chat() refuses a chat session.
struct OpeningRefusal {
    int status = 0;
    std::string_view code;
};
OpeningRefusal refusal_of(const Error& error);

/// The front of the ClawSeed protocol on one event loop: the WebSocket endpoint and the REST routes
/// (docs/protocols/clawseed.md, sections 1 and 8).
class Front {
public:
    struct Services {
        Hub& hub;
        core::Pipeline& pipeline;
        core::TurnRunner& runner;
        trust::CredentialCache& credentials;  ///< of this event loop
        trust::PairingCodes& codes;
        trust::DeviceKeys& keys;
        BlockingPool& pool;
        core::Ledger& ledger;  ///< of the keys of `/webhook`
        core::LedgerJournal* journal;  ///< null: they are in memory only
        const StatusFacts& facts;
        /// By principal; null: received bytes are not limited
        ByteBudgets* budgets = nullptr;
        /// Called on the pool, may block; may be empty
        std::function<void(const core::Principal& owner, const core::ChatSession& session)>
            session_deleted{};
    };
    Front(net::EventLoop& loop, Services services)
        : loop_(loop),
          services_(services),
          parser_(json::Limits{.max_bytes = std::size_t{64} << 20, .max_depth = 64}) {}

    /// The routes of a public listener: the WebSocket, pairing, the REST routes.
    void add_routes(net::Routes<core::PrincipalRef>& routes);
    /// The subset for the admin socket: the WebSocket, chat sessions, uploads.
    void add_chat_routes(net::Routes<core::PrincipalRef>& routes);

    /// The refusal for a Host that is not allowed; nothing when it is.
    std::optional<std::string> refused_host(const net::HttpRequest& request) const;
    /// Whether pages of that origin are allowed by name (`listen.allowed_origins`).
    bool is_named_origin(std::string_view origin) const;
    /// The refusal for a Host or Origin that is not allowed; nothing when both are.
    std::optional<std::string> refused_source(const net::HttpRequest& request) const;

private:
    using Request = net::Routes<core::PrincipalRef>::Request;
    /// A chat session of the caller's: live, stored, or both.
    struct OwnSession {
        std::shared_ptr<Chat> chat;  ///< null: not live
        core::ChatSession session;
        std::shared_ptr<void> place;  ///< among its owner's requests
    };

    void add_open_routes(net::Routes<core::PrincipalRef>& routes);
    void add_rest_routes(net::Routes<core::PrincipalRef>& routes);
    void add_session_routes(net::Routes<core::PrincipalRef>& routes);
    void add_picture_routes(net::Routes<core::PrincipalRef>& routes);
    net::Upgrade upgrade(const net::HttpRequest& request, const net::WebSocketOffer& offer);
    /// The same for a caller that is already authenticated, as on the admin socket.
    net::Upgrade upgrade_as(const net::HttpRequest& request, const net::WebSocketOffer& offer,
                            const core::PrincipalRef& principal,
                            std::optional<SystemTime> good_until = {});
    std::optional<net::Upgrade> refused_handshake(const net::HttpRequest& request,
                                                  const net::WebSocketOffer& offer) const;
    Result<trust::Proven> authenticate(const net::HttpRequest& request,
                                       std::string_view token) const;
    void health(net::HttpExchange& exchange) const;
    Task<void> pair(net::HttpExchange& exchange);
    void challenge(net::HttpExchange& exchange);
    Task<void> key_token(net::HttpExchange& exchange);
    void list_tools(net::HttpExchange& exchange, const core::Principal& principal);
    void status(net::HttpExchange& exchange);
    /// The session that a path names; nothing if it is not the caller's: the request has been
    /// answered.
    Task<std::optional<OwnSession>> own_session(const Request& request);
    Task<void> session_messages(const Request& request);
    Task<void> session_state(const Request& request);
    Task<void> rename_session(const Request& request);
    Task<void> delete_session(const Request& request);
    Task<void> abort_session(const Request& request);
    net::RequestBodyLimits upload_limits() const;
    Task<void> upload(net::HttpExchange& exchange, core::PrincipalRef principal);
    Task<void> upload_picture(const Request& request);
    Task<void> send_picture(const Request& request);
    Task<void> list_sessions(net::HttpExchange& exchange, core::PrincipalRef principal,
                             bool running_only);
    void list_agents(net::HttpExchange& exchange) const;
    struct WebhookQuestion;
    struct WebhookEnd;
    Task<void> webhook(net::HttpExchange& exchange, core::PrincipalRef principal);
    static void respond(net::HttpExchange& exchange, const WebhookEnd& end);
    Task<WebhookEnd> run_webhook(WebhookQuestion question, core::PrincipalRef principal);

    net::EventLoop& loop_;
    Services services_;
    json::Parser parser_;
};

}  // namespace crab::clawseed
