// The routes of docs/protocols/clawseed.md, sections 1, 8 and 9: who may use which.

#include "adapters/clawseed/front.hpp"
#include "base/scope_exit.hpp"
#include "core/call/picture.hpp"

#include <fmt/format.h>

namespace crab::clawseed {
namespace {

using Routes = net::Routes<core::PrincipalRef>;

constexpr Milliseconds kSilence{20'000};  // of whoever uploads

/// What an app shows of its own chats is for devices as well as for callers; a webhook is for
/// scripts.
enum class Users : std::uint8_t { kApps, kScripts };

bool may_use(const Routes::Request& request, Users users) {
    const core::Principal& principal = *request.principal;
    if (principal.may(core::Role::kCaller)) return true;
    if (users == Users::kApps && principal.may(core::Role::kDevice)) return true;
    request.exchange.respond_error(
        403, "FORBIDDEN",
        "your token does not let you use the REST surface; ask for one with the role caller");
    return false;
}

Task<void> nothing() { co_return; }

/// `handler`, for those whose role lets them.
template <class Handler>
auto for_users(Users users, Handler handler) {
    return [users, handler](const Routes::Request& request) {
        using Answer = std::invoke_result_t<const Handler&, const Routes::Request&>;
        const bool may = may_use(request, users);
        if constexpr (std::is_void_v<Answer>) {
            if (may) handler(request);
        } else {
            return may ? handler(request) : nothing();
        }
    };
}

}  // namespace

void Front::add_routes(Routes& routes) {
    add_open_routes(routes);
    add_rest_routes(routes);
    add_chat_routes(routes);
}

void Front::add_chat_routes(Routes& routes) {
    const auto upgrading = [this](const net::HttpRequest& request, const net::WebSocketOffer& offer,
                                  const core::PrincipalRef& principal) {
        return principal ? upgrade_as(request, offer, principal) : upgrade(request, offer);
    };
    routes.add_websocket(
        {.path = "/ws/chat",
         .who = net::Caller::kAnyone,
         .summary = "A device's or an app's WebSocket; its credential comes with the upgrade",
         .head = true,
         .query = {{"session_id", "the chat session to resume"},
                   {"name", "of a new one"},
                   {"persona", "which agent it talks to"},
                   {"token", "a bearer token, from those who can set no header"}},
         .refusals = {400, 401, 403, 404, 429, 503}},
        [](const Request& request) {
            request.exchange.respond_error(
                426, "INVALID_ARGS", "this is a WebSocket endpoint; ask for an upgrade",
                {{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}});
        },
        upgrading);
    routes.add(
        {.method = net::Method::kPost,
         .path = kUploadPath,
         .summary = "Upload a large result for a call that this device is answering",
         .streams_body = true,
         .body_now = [this] { return upload_limits(); },
         .query = {{"call_id", "of the call that is being answered"}},
         .headers = {{"Content-Digest", "with a sha-256 (RFC 9530); required"}},
         .request_type = "*/*",
         .answers = {{201, "artifact_stored"}},
         .refusals = {400, 403, 404, 408, 413, 429, 503, 507}},
        [this](const Request& request) { return upload(request.exchange, request.principal); });
    add_session_routes(routes);
    add_picture_routes(routes);
}

void Front::add_open_routes(Routes& routes) {
    using net::Caller, net::Method;
    routes.add({.path = "/health",
                .who = Caller::kGuest,
                .summary = "Whether a token is needed",
                .head = true,
                .answers = {{200, "service_health"}}},
               [this](const Request& request) { health(request.exchange); });
    routes.add({.method = Method::kPost,
                .path = "/pair",
                .who = Caller::kGuest,
                .summary = "Exchange a pairing code for a token",
                .headers = {{"X-Pairing-Code", "the code; required"}},
                .request = "pair_request",
                .answers = {{200, "pair_response"}},
                .refusals = {400, 404, 429, 503}},
               [this](const Request& request) { return pair(request.exchange); });
    routes.add({.method = Method::kPost,
                .path = kChallengePath,
                .who = Caller::kGuest,
                .summary = "Something for a device's key to sign",
                .answers = {{200, "key_challenge"}}},
               [this](const Request& request) { challenge(request.exchange); });
    routes.add({.method = Method::kPost,
                .path = kKeyTokenPath,
                .who = Caller::kGuest,
                .summary = "Exchange the signature for a token",
                .request = "key_token_request",
                .answers = {{200, "key_token"}},
                .refusals = {400, 401, 429, 503}},
               [this](const Request& request) { return key_token(request.exchange); });
}

void Front::add_rest_routes(Routes& routes) {
    routes.add({.path = "/api/tools",
                .summary = "The tools that an app can show",
                .head = true,
                .answers = {{200, "app_tool_list"}}},
               for_users(Users::kApps, [this](const Request& request) {
                   list_tools(request.exchange, *request.principal);
               }));
    routes.add(
        {.path = "/api/status",
         .summary = "The model, and how long it runs",
         .head = true,
         .answers = {{200, "app_status"}}},
        for_users(Users::kApps, [this](const Request& request) { status(request.exchange); }));
    routes.add({.method = net::Method::kPost,
                .path = "/webhook",
                .summary = "Ask a question, and wait for the answer of a whole turn",
                .headers = {{"X-Session-Id", "the chat session that it goes on in"},
                            {"X-Persona", "which agent is asked"},
                            {"X-Idempotency-Key", "a repeat with it gets the first answer"}},
                .request = "webhook_request",
                .answers = {{200, "webhook_response"}},
                .refusals = {400, 404, 409, 429, 502, 503, 504}},
               for_users(Users::kScripts, [this](const Request& request) {
                   return webhook(request.exchange, request.principal);
               }));
}

// long: one table, and a route is a row
void Front::add_session_routes(Routes& routes) {
    const auto add = [&routes](net::Route route, auto handler) {
        routes.add(std::move(route), for_users(Users::kApps, std::move(handler)));
    };
    add({.path = "/api/sessions",
         .summary = "The caller's chat sessions",
         .head = true,
         .query = {{"q", "words that are all in its name, in any case"},
                   {"agent", "its persona; * and ? stand for any text"},
                   {"limit", "how many at most, 200; all when it is absent"},
                   {"cursor", "where to go on: `cursor` of the page before"}},
         .answers = {{200, "chat_session_list"}},
         .refusals = {400, 429, 503}},
        [this](const Request& request) {
            return list_sessions(request.exchange, request.principal, false);
        });
    add({.path = "/api/agents",
         .summary = "The agents that a new chat can be with, besides the standard one",
         .head = true,
         .answers = {{200, "chat_agent_list"}}},
        [this](const Request& request) { list_agents(request.exchange); });
    add({.path = "/api/sessions/running",
         .summary = "Those of them in which a turn runs",
         .head = true,
         .answers = {{200, "chat_session_list"}}},
        [this](const Request& request) {
            return list_sessions(request.exchange, request.principal, true);
        });
    add({.method = net::Method::kPut,
         .path = "/api/sessions/{session_id}",
         .proof = net::FreshProof::kNever,
         .summary = "Rename a chat session",
         .request = "chat_session_rename",
         .answers = {{200, "chat_session_renamed"}},
         .refusals = {400, 404, 429, 503}},
        [this](const Request& request) { return rename_session(request); });
    add({.method = net::Method::kDelete,
         .path = "/api/sessions/{session_id}",
         .proof = net::FreshProof::kNever,
         .summary = "Delete a chat session",
         .answers = {{200, "chat_session_deleted"}},
         .refusals = {404, 429, 503}},
        [this](const Request& request) { return delete_session(request); });
    add({.path = "/api/sessions/{session_id}/messages",
         .summary = "What was said in a chat session",
         .head = true,
         .answers = {{200, "chat_messages"}},
         .refusals = {404, 429, 503}},
        [this](const Request& request) { return session_messages(request); });
    add({.path = "/api/sessions/{session_id}/state",
         .summary = "Whether a turn runs in a chat session",
         .head = true,
         .answers = {{200, "chat_session_state"}},
         .refusals = {404, 429, 503}},
        [this](const Request& request) { return session_state(request); });
    add({.method = net::Method::kPost,
         .path = "/api/sessions/{session_id}/abort",
         .proof = net::FreshProof::kNever,
         .summary = "End the turn that runs in a chat session",
         .answers = {{200, "chat_turn_aborted"}},
         .refusals = {404}},
        [this](const Request& request) { return abort_session(request); });
}

void Front::add_picture_routes(Routes& routes) {
    const net::RequestBodyLimits limits{.max_bytes = core::kMostPictureBytes, .timeout = kSilence};
    routes.add({.method = net::Method::kPost,
                .path = "/api/sessions/{session_id}/attachments",
                .proof = net::FreshProof::kNever,
                .summary = "Upload a picture for a chat session",
                .streams_body = true,
                .body = limits,
                .request_type = "image/*",
                .answers = {{201, "picture"}},
                .refusals = {400, 404, 408, 413, 429, 503}},
               for_users(Users::kApps,
                         [this](const Request& request) { return upload_picture(request); }));
    routes.add(
        {.path = "/api/sessions/{session_id}/attachments/{picture}",
         .summary = "Such a picture",
         .head = true,
         .answers = {{200, {}, "image/*"}},
         .refusals = {404, 429, 503}},
        for_users(Users::kApps, [this](const Request& request) { return send_picture(request); }));
}

net::RequestBodyLimits Front::upload_limits() const {
    return {.max_bytes = services_.hub.options()->artifact_bytes, .timeout = kSilence};
}

void Front::health(net::HttpExchange& exchange) const {
    exchange.respond(
        200, "application/json",
        fmt::format(R"({{"status":"ok","paired":true,"require_pairing":{},"runtime":{{}}}})",
                    !services_.hub.options()->open_loopback));
}

}  // namespace crab::clawseed
