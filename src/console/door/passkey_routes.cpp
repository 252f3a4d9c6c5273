#include "console/door/passkey_routes.hpp"

#include "base/base64url.hpp"
#include "base/encoding.hpp"
#include "console/door/session_rights.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"

#include <array>
#include <utility>

namespace crab::console {
namespace {

constexpr net::RequestBodyLimits kPasskeyBody{.max_bytes = 8192};
constexpr std::array<net::HttpHeader, 1> kPrivate{{{"Cache-Control", "no-store"}}};

/// A member in base64url; nothing when it is absent, empty or anything else.
std::optional<std::string> bytes_member(json::Element object, std::string_view name) {
    auto bytes = from_base64url(json::get_string(object, name).value_or(""));
    if (!bytes || bytes->empty()) return std::nullopt;
    return bytes;
}

void write_passkey(json::Writer& writer, const StoredPasskey& passkey) {
    writer.begin_object();
    writer.key("key_id").string(passkey.credential);
    writer.key("id").string(passkey.id);
    writer.key("label").string_lossy(passkey.label);
    writer.key("rp_id").string(passkey.rp_id);
    writer.key("created_at").string(to_rfc3339(passkey.created_at));
    if (passkey.used_at) writer.key("last_used_at").string(to_rfc3339(*passkey.used_at));
    writer.end_object();
}

}  // namespace

Result<trust::Assertion> read_assertion(json::Element passkey) {
    auto id = bytes_member(passkey, "id"), client_data = bytes_member(passkey, "client_data"),
         data = bytes_member(passkey, "authenticator_data"),
         signature = bytes_member(passkey, "signature");
    if (!id || !client_data || !data || !signature)
        return fail(ErrorCode::kInvalidArgs,
                    "passkey needs id, client_data, authenticator_data and signature (base64url)");
    return trust::Assertion{.credential_id = std::move(*id),
                            .client_data = std::move(*client_data),
                            .authenticator_data = std::move(*data),
                            .signature = std::move(*signature),
                            .user_handle = bytes_member(passkey, "user_handle").value_or("")};
}

void PasskeyRoutes::add_routes(net::Routes<core::PrincipalRef>& routes) {
    using Request = net::Routes<core::PrincipalRef>::Request;
    const auto add_route = [&](net::Route route, auto handler) {
        if (route.method != net::Method::kGet) route.body = kPasskeyBody;
        routes.add(std::move(route), std::move(handler));
    };
    add_route({.method = net::Method::kPost,
               .path = "/console/session/passkeys/challenge",
               .who = net::Caller::kAnyone,
               .summary = "What a passkey has to sign, and for whoever is signed in what a new one "
                          "is made with",
               .answers = {{200, "passkey_challenge"}},
               .refusals = {403, 404, 409, 503}},
              [this](const Request& request) { return challenge(request.exchange); });
    add_route({.path = "/console/session/passkeys",
               .who = net::Caller::kSession,
               .summary = "The passkeys of whoever is signed in to the console",
               .answers = {{200, "passkey_list"}},
               .refusals = {401, 403, 404, 503}},
              [this](const Request& request) { return list(request.exchange); });
    add_route({.method = net::Method::kPost,
               .path = "/console/session/passkeys",
               .who = net::Caller::kSession,
               .summary = "Add a passkey; needs a key that was proven in this session just now",
               .request = "passkey_addition",
               .answers = {{201, "passkey"}},
               .refusals = {400, 401, 403, 404, 409, 429, 503}},
              [this](const Request& request) { return add(request.exchange); });
    add_route(
        {.method = net::Method::kDelete,
         .path = "/console/session/passkeys/{key_id}",
         .who = net::Caller::kSession,
         .summary = "End a passkey, and the sessions that it has opened; needs a key that was "
                    "proven in this session just now",
         .answers = {{204, {}, {}}},
         .refusals = {401, 403, 404, 503}},
        [this](const Request& request) {
            return remove(request.exchange, std::string(request.arguments["key_id"]));
        });
}

Result<trust::WebauthnSite> PasskeyRoutes::site_of(const net::HttpRequest& request) const {
    const auto origin = uses_.origin_of(request);
    if (!origin)
        return fail(ErrorCode::kConflict,
                    "passkeys need an address that is known to be this gateway's: where a proxy or "
                    "another port stands before it, add the page's https origin to "
                    "listen.allowed_origins");
    auto site = trust::webauthn_site_of(*origin);
    if (site) return std::move(*site);
    return fail(ErrorCode::kConflict,
                "passkeys are of host names, and this is reached at an address: open the console "
                "by a name, or use this browser's key");
}

Result<ConsoleSession> PasskeyRoutes::proven_session(const net::HttpRequest& request) const {
    auto session = uses_.session_of(request);
    if (!session) return session;
    if (auto refused = SessionRights::refuse_unproven(*session, uses_.clock.steady_now()))
        return fail(std::move(*refused));
    return session;
}

Task<void> PasskeyRoutes::challenge(net::HttpExchange& exchange) {
    const auto site = site_of(exchange.request());
    if (!site) co_return exchange.respond_error(site.error());
    const auto session = uses_.session_of(exchange.request());
    std::vector<StoredPasskey> known;
    if (session) {
        auto found = co_await uses_.passkeys.list(*session);
        if (!found) co_return exchange.respond_error(found.error());
        known = std::move(*found);
    }
    std::string text;
    json::Writer writer(text);
    writer.begin_object()
        .key("challenge")
        .string(uses_.passkeys.challenge(session ? session->number : 0));
    writer.key("rp_id").string(site->rp_id);
    writer.key("expires_in_ms").integer(trust::Challenges::kLifetime.count());
    if (session) {
        writer.key("user").begin_object();
        writer.key("id").string(Passkeys::user_handle_of(session->principal, site->rp_id));
        writer.key("name").string(session->principal).end_object();
        writer.key("known").begin_array();
        for (const StoredPasskey& each : known)
            if (each.rp_id == site->rp_id) writer.string(each.id);
        writer.end_array();
        const auto now = uses_.clock.steady_now();
        writer.key("proven").boolean(!SessionRights::refuse_unproven(*session, now));
    }
    writer.end_object();
    exchange.respond(200, net::kJsonType, text, kPrivate);
}

Task<void> PasskeyRoutes::list(net::HttpExchange& exchange) {
    const auto session = uses_.session_of(exchange.request());
    if (!session) co_return exchange.respond_error(session.error());
    const auto found = co_await uses_.passkeys.list(*session);
    if (!found) co_return exchange.respond_error(found.error());
    std::string text;
    json::Writer writer(text);
    writer.begin_object().key("passkeys").begin_array();
    for (const StoredPasskey& each : *found) write_passkey(writer, each);
    writer.end_array().end_object();
    exchange.respond(200, net::kJsonType, text, kPrivate);
}

Task<void> PasskeyRoutes::add(net::HttpExchange& exchange) {
    auto session = proven_session(exchange.request());
    if (!session) co_return exchange.respond_error(session.error());
    auto site = site_of(exchange.request());
    if (!site) co_return exchange.respond_error(site.error());
    if (uses_.refuse_try(exchange)) co_return;
    json::Parser parser;
    const auto root = parser.parse(exchange.request().body);
    if (!root) co_return exchange.respond_error(root.error());
    const json::Element said = root->element();
    auto id = bytes_member(said, "id"), client_data = bytes_member(said, "client_data"),
         data = bytes_member(said, "authenticator_data"), key = bytes_member(said, "public_key");
    if (!id || !client_data || !data || !key)
        co_return exchange.respond_error(
            400, token_of(ErrorCode::kInvalidArgs),
            "id, client_data, authenticator_data and public_key (base64url) are required");
    Passkeys::Addition addition{.session = std::move(*session),
                                .made = {.credential_id = std::move(*id),
                                         .client_data = std::move(*client_data),
                                         .authenticator_data = std::move(*data),
                                         .public_key = std::move(*key)},
                                .site = std::move(*site),
                                .label = std::string(json::get_string(said, "label").value_or(""))};
    const auto added = co_await uses_.passkeys.add(std::move(addition));
    if (!added) {
        // not 401: the session goes on
        if (added.error().code == ErrorCode::kUnauthenticated)
            co_return exchange.respond_error(403, token_of(ErrorCode::kForbidden),
                                             added.error().message);
        co_return exchange.respond_error(added.error());
    }
    std::string text;
    json::Writer writer(text);
    write_passkey(writer, *added);
    exchange.respond(201, net::kJsonType, text, kPrivate);
}

Task<void> PasskeyRoutes::remove(net::HttpExchange& exchange, std::string key_id) {
    auto session = proven_session(exchange.request());
    if (!session) co_return exchange.respond_error(session.error());
    const auto removed = co_await uses_.passkeys.remove(std::move(*session), std::move(key_id));
    if (!removed) co_return exchange.respond_error(removed.error());
    exchange.respond(204, "", "");
}

}  // namespace crab::console
