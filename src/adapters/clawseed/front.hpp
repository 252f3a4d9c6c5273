#pragma once

#include "adapters/clawseed/device_session.hpp"
#include "adapters/clawseed/hub.hpp"
#include "core/pipeline/pipeline.hpp"
#include "json/parser.hpp"
#include "net/http/http_service.hpp"
#include "trust/device_keys.hpp"
#include "trust/pairing_codes.hpp"
#include "trust/request_authentication.hpp"
#include "trust/tokens.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace crab::clawseed {

/// What `/api/status` tells beside what the hub knows.
struct StatusFacts {
    SteadyTime started;
    std::uint16_t port = 0;
};

/// What a chat session that Hub::open_chat() did not open is answered with.
struct OpeningRefusal {
    int status = 0;
    std::string_view code;
};
OpeningRefusal refusal_of(const Error& error);

/// The protocol's side of the public listener on one event loop: the WebSocket endpoint and the
/// REST surface (docs/protocols/clawseed.md, sections 1 and 8).
class Front {
public:
    struct Services {
        Hub& hub;
        core::Pipeline& pipeline;
        core::TurnRunner& runner;
        trust::CredentialCache& credentials;   ///< of this event loop
        trust::PairingCodes& codes;
        trust::DeviceKeys& keys;
        BlockingPool& pool;
        core::Ledger& ledger;                      ///< of the keys of `/webhook`
        core::LedgerJournal* journal;              ///< null: they are in memory only
        const StatusFacts& facts;
        /// By principal; null: what a connection sends is on nobody's account
        ByteBudgets* budgets = nullptr;
        /// Principal and session; called on the pool, may block; may be empty
        std::function<void(const core::Principal& owner, const std::string& session_id)>
            session_deleted{};
    };
    Front(net::EventLoop& loop, Services services)
        : loop_(loop),
          services_(services),
          parser_(json::Limits{.max_bytes = std::size_t{64} << 20, .max_depth = 64}) {}

    /// Whether this protocol serves that path (`/ws/chat`, `/health`, `/pair`, `/api/…`, `/webhook`
    /// below the prefix).
    bool owns(std::string_view path) const;
    /// Decides about an upgrade of a path that it owns.
    net::Upgrade upgrade(const net::HttpRequest& request, const net::WebSocketOffer& offer);
    /// The same for a caller whose identity is proven otherwise, as on the admin socket.
    net::Upgrade upgrade_as(const net::HttpRequest& request, const net::WebSocketOffer& offer,
                            const core::PrincipalRef& principal,
                            std::optional<SystemTime> good_until = {});
    /// Answers a request for a path that it owns.
    Task<void> serve(net::HttpExchange& exchange);
    /// Whether that is a path by which somebody without a credential may get one, with a small
    /// body.
    bool is_open_to_strangers(std::string_view path) const;
    /// Whether that is an upload, whose body serve() takes piece by piece.
    bool is_upload(const net::HttpRequest& request) const;
    net::RequestBodyLimits upload_limits() const;
    /// Whether serve() takes the body piece by piece, once it knows who sends it: uploads of
    /// results, and of pictures for chats.
    bool takes_pieces(const net::HttpRequest& request) const {
        return is_upload(request) || is_picture_upload(request);
    }
    net::RequestBodyLimits piece_limits(const net::HttpRequest& request) const;
    /// Takes an upload of a device whose identity is proven.
    Task<void> upload(net::HttpExchange& exchange, core::PrincipalRef principal);

    /// `/api/sessions` and what is below it, for a caller whose identity is proven otherwise;
    /// `path` is without any prefix.
    Task<void> serve_sessions(net::HttpExchange& exchange, core::PrincipalRef principal,
                              std::string_view path);

    /// The refusal for a Host or Origin that may not come here; nothing when both are fine.
    std::optional<std::string> refused_source(const net::HttpRequest& request) const;

private:
    std::optional<net::Upgrade> refused_handshake(const net::HttpRequest& request,
                                                  const net::WebSocketOffer& offer) const;
    std::string_view local_path(std::string_view path) const;
    Result<trust::Proven> authenticate(const net::HttpRequest& request,
                                       std::string_view token) const;
    Task<void> pair(net::HttpExchange& exchange);
    void challenge(net::HttpExchange& exchange);
    void key_token(net::HttpExchange& exchange);
    void list_tools(net::HttpExchange& exchange, const core::Principal& principal);
    void status(net::HttpExchange& exchange);
    Task<void> sessions(net::HttpExchange& exchange, core::PrincipalRef principal,
                        std::string_view rest);
    bool is_picture_upload(const net::HttpRequest& request) const;
    Task<void> upload_picture(net::HttpExchange& exchange, core::NewChatSession session);
    Task<void> send_picture(net::HttpExchange& exchange, std::string id, std::string picture);
    Task<void> list_sessions(net::HttpExchange& exchange, core::PrincipalRef principal,
                             bool running_only);
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
