#include "console/door/console_door.hpp"

#include "base/ascii.hpp"
#include "base/encoding.hpp"
#include "console/relay/request_source.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"
#include "net/loop/ip_address.hpp"
#include "trust/origin_policy.hpp"
#include "trust/refused_credentials.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::console {
namespace {

bool needs_session(const net::HttpRequest& request) {
    return request.match.route != nullptr && request.match.route->who == net::Caller::kSession;
}

constexpr std::size_t kMostOfApi = std::size_t{16} << 20;
constexpr net::RequestBodyLimits kSmall{.max_bytes = 4096};

constexpr std::string_view kMappedIpv4 = "00000000000000000000ffff";

net::HttpClientOptions gateway_options() { return {.max_connections = 256}; }

void answer_error(net::HttpExchange& exchange, const Error& error) {
    if (!error.retry_after) return exchange.respond_error(error);
    const std::string seconds =
        fmt::format("{}", std::chrono::ceil<std::chrono::seconds>(*error.retry_after).count());
    exchange.respond_error(429, token_of(error.code), error.message, {{"Retry-After", seconds}});
}

}  // namespace

/// What somebody brings to sign in, or to prove once more.
struct ConsoleDoor::Credential {
    std::string token, key_id, nonce, signature;
    std::optional<trust::Assertion> passkey{};

    static Result<Credential> read(std::string_view body) {
        json::Parser parser;
        const auto root = parser.parse(body);
        const auto member = [&](std::string_view name) {
            return std::string(root ? json::get_string(root->element(), name).value_or("")
                                    : std::string_view());
        };
        Credential read{member("token"), member("key_id"), member("nonce"), {}};
        if (const auto passkey = root ? json::get(root->element(), "passkey") : std::nullopt) {
            auto assertion = read_assertion(*passkey);
            if (!assertion) return fail(std::move(assertion.error()));
            read = {};
            read.passkey = std::move(*assertion);
            return read;
        }
        auto signature = from_base64(member("signature"));
        if (signature) read.signature = std::move(*signature);
        if (read.token.empty() &&
            (read.key_id.empty() || read.nonce.empty() || read.signature.empty()))
            return fail(ErrorCode::kInvalidArgs,
                        "token, or key_id, nonce and signature (base64), or passkey are required");
        return read;
    }
    /// What its owner holds and never sends.
    bool is_key() const { return token.empty(); }
    std::string_view kind() const {
        if (passkey) return "console passkey";
        return is_key() ? "console key" : "console token";
    }
};

ConsoleDoor::ConsoleDoor(Uses uses, SessionAccess::Options access)
    : uses_(std::move(uses)),
      access_(uses_.kept.sessions(), std::move(access)),
      rights_(uses_.gateway_routes),
      passkeys_({.passkeys = uses_.passkeys,
                 .clock = uses_.loop.clock(),
                 .session_of = [this](const auto& request) { return session_of(request); },
                 .origin_of = [this](const auto& request) { return known_origin_of(request); },
                 .refuse_try = [this](auto& exchange) { return refuse_try(exchange); }}),
      gateway_(uses_.loop, {.server = {.addresses = {uses_.gateway}}}, gateway_options()),
      relay_({.loop = uses_.loop, .gateway = gateway_, .address = uses_.gateway}) {}

bool ConsoleDoor::covers(const net::HttpRequest& request) const {
    const std::string_view root = access_.root();
    return request.path().starts_with(root) || request.path() == root.substr(0, root.size() - 1);
}

std::string ConsoleDoor::origin_of(const net::HttpRequest& request) const {
    std::string secure = fmt::format("https://{}", request.head.host);
    if (request.tls || uses_.is_named_origin(secure)) return secure;
    return fmt::format("http://{}", request.head.host);
}

std::optional<std::string> ConsoleDoor::known_origin_of(const net::HttpRequest& request) const {
    std::string origin = origin_of(request);
    const auto parts = trust::parse_origin(origin);
    if (!parts) return std::nullopt;
    const bool named = parts->scheme == "https" && uses_.is_named_origin(origin);
    if (!named && parts->port != request.local_port()) return std::nullopt;
    return origin;
}

std::optional<net::Refusal> ConsoleDoor::refuse_head(const net::HttpRequest& request) {
    if (!is_open()) return std::nullopt;
    if (const auto refused = uses_.refused_host(request))
        return refusal_of({.code = ErrorCode::kForbidden, .message = *refused});
    if (const auto refused = refuse_source(request, origin_of(request), access_.root()))
        return refusal_of(*refused);
    if (!needs_session(request) || asks_for_upgrade(request)) return std::nullopt;
    if (const auto refused = refuse_session(request)) return refusal_of(*refused);
    return std::nullopt;
}

std::optional<Error> ConsoleDoor::refuse_session(const net::HttpRequest& request) {
    const auto session = session_of(request);
    return session ? std::nullopt : std::optional(session.error());
}

Result<ConsoleSession> ConsoleDoor::session_of(const net::HttpRequest& request) {
    auto session = access_.session_of(request);
    if (!session) return fail(access_.no_session());
    if (uses_.kept.lets_in(session->roles) && uses_.kept.principal_of(*session)) return session;
    uses_.kept.sessions().end(session->number, ConsoleSessions::End::kRevoked);
    return fail(access_.no_session());
}

std::optional<std::string> ConsoleDoor::owner_of_body(const net::HttpRequest& request) {
    if (!is_open() || !needs_session(request)) return std::nullopt;
    const auto session = session_of(request);
    return session ? std::optional(session->principal) : std::nullopt;
}

void ConsoleDoor::add_routes(net::Routes<core::PrincipalRef>& routes) {
    add_session_routes(routes);
    passkeys_.add_routes(routes);
    add_api_routes(routes);
    routes.add({.path = "/console",
                .who = net::Caller::kAnyone,
                .summary = "The way to the console",
                .answers = {{308, {}, {}}},
                .refusals = {403, 404}},
               [root = access_.root()](const Request& request) {
                   request.exchange.respond(308, "", "", {{"Location", root}});
               });
    routes.add({.path = "/console/{file...}",
                .who = net::Caller::kAnyone,
                .summary = "The files of the console, where `listen.console` opens it",
                .head = true,
                .headers = {{"If-None-Match", "the ETag that is known"}},
                .answers = {{200, {}, "*/*"}, {304, {}, {}}},
                .refusals = {403, 404}},
               [this](const Request& request) {
                   uses_.serve_file(request.exchange, request.arguments["file"]);
               });
}

void ConsoleDoor::add_session_routes(net::Routes<core::PrincipalRef>& routes) {
    const auto add = [&](net::Route route, auto handler) {
        if (route.method != net::Method::kGet) route.body = kSmall;
        routes.add(std::move(route), std::move(handler));
    };
    add({.method = net::Method::kPost,
         .path = "/console/session",
         .who = net::Caller::kAnyone,
         .summary =
             "Sign in to the console with a token, a key and its signed challenge, or a passkey",
         .request = "console_sign_in",
         .answers = {{200, "console_identity"}},
         .refusals = {400, 401, 403, 404, 409, 429, 503}},
        [this](const Request& request) { return sign_in(request.exchange); });
    add({.path = "/console/session",
         .who = net::Caller::kSession,
         .summary = "Who is signed in to the console",
         .answers = {{200, "console_identity"}},
         .refusals = {401, 403, 404}},
        [this](const Request& request) { access_.show(request.exchange); });
    add({.method = net::Method::kDelete,
         .path = "/console/session",
         .who = net::Caller::kSession,
         .summary = "Sign out of the console",
         .answers = {{204, {}, {}}},
         .refusals = {401, 403, 404, 503}},
        [this](const Request& request) { return sign_out(request.exchange); });
    add({.method = net::Method::kPost,
         .path = "/console/session/challenge",
         .who = net::Caller::kAnyone,
         .summary = "What a key has to sign to sign in to the console, or to prove itself again",
         .answers = {{200, "key_challenge"}},
         .refusals = {403, 404}},
        [this](const Request& request) { challenge(request.exchange); });
    add({.method = net::Method::kPost,
         .path = "/console/session/proof",
         .who = net::Caller::kSession,
         .summary = "Prove a key or passkey in a session of the console, for what needs that",
         .request = "console_sign_in",
         .answers = {{204, {}, {}}},
         .refusals = {400, 401, 403, 404, 409, 429, 503}},
        [this](const Request& request) { return prove_key(request.exchange); });
    add({.method = net::Method::kPost,
         .path = "/console/session/ticket",
         .who = net::Caller::kSession,
         .summary = "A ticket for a WebSocket of the console, good once and for 30 s",
         .answers = {{200, "console_ticket"}},
         .refusals = {401, 403, 404}},
        [this](const Request& request) { access_.give_ticket(request.exchange); });
}

void ConsoleDoor::add_api_routes(net::Routes<core::PrincipalRef>& routes) {
    for (const net::Method method : {net::Method::kGet, net::Method::kPost, net::Method::kPut,
                                     net::Method::kPatch, net::Method::kDelete}) {
        routes.add({.method = method,
                    .path = "/console/api/{path...}",
                    .who = net::Caller::kSession,
                    .summary = "What the admin socket answers, for whoever is signed in to the "
                               "console",
                    .body = net::RequestBodyLimits{.max_bytes = kMostOfApi},
                    .request_type = method == net::Method::kGet ? "" : "application/json",
                    .answers = {{200, {}, "*/*"}},
                    .refusals = {401, 403, 404, 429}},
                   [this, method](const Request& request) {
                       return serve_api(request.exchange, net::name_of(method));
                   });
    }
}

/// Whom a proxy of this machine, which is named by the page's origin, says to pass on for; empty
/// for a request that comes by itself. What stands before the last address is anybody's word.
std::string ConsoleDoor::passed_on_for(const net::HttpRequest& request) const {
    if (request.tls || !request.peer.is_loopback() || !origin_of(request).starts_with("https://"))
        return {};
    const std::string_view field = only_field(request, "x-forwarded-for");
    const auto address = net::parse_ip_address(trim(field.substr(field.rfind(',') + 1)));
    if (!address) return {};
    const std::span<const std::uint8_t> bytes(*address);
    const bool is_mapped = to_hex(bytes.first(12)) == kMappedIpv4;
    return to_hex(is_mapped ? bytes : bytes.first(8));  // of IPv6 the network, as everywhere
}

bool ConsoleDoor::refuse_try(net::HttpExchange& exchange) {
    const auto counted =
        uses_.kept.count_try(exchange.request().peer, passed_on_for(exchange.request()));
    if (!counted) answer_error(exchange, counted.error());
    return !counted;
}

Task<Result<trust::Proven>> ConsoleDoor::prove_key_of(const net::HttpRequest& request,
                                                      const Credential& credential) {
    std::string from = passed_on_for(request);
    if (from.empty()) from = request.peer.ip();
    auto work = [&keys = uses_.keys, &credential, from = std::move(from)] {
        return keys.prove(credential.key_id, credential.nonce, credential.signature, from);
    };
    if (!uses_.keys.block()) co_return work();
    co_return co_await uses_.pool.run(std::move(work));
}

Task<Result<trust::Proven>> ConsoleDoor::prove(const net::HttpRequest& request,
                                               const Credential& credential) {
    Result<trust::Proven> proven = fail(ErrorCode::kUnauthenticated, "");
    if (credential.passkey) {
        auto site = passkeys_.site_of(request);
        if (!site) co_return fail(std::move(site.error()));
        const auto session = session_of(request);
        proven = co_await uses_.passkeys.prove(*credential.passkey, std::move(*site),
                                               session ? session->number : 0);
    } else {
        proven = credential.is_key() ? co_await prove_key_of(request, credential)
                                     : uses_.kept.prove_token(credential.token);
    }
    if (!proven && proven.error().code == ErrorCode::kUnauthenticated) {
        trust::log_refused_credential(credential.kind(), request.peer.ip(), proven.error().message);
        uses_.kept.note_refused();
    }
    co_return proven;
}

Task<void> ConsoleDoor::sign_in(net::HttpExchange& exchange) {
    if (refuse_try(exchange)) co_return;
    const auto credential = Credential::read(exchange.request().body);
    if (!credential) co_return exchange.respond_error(credential.error());
    auto proven = co_await prove(exchange.request(), *credential);
    if (!proven) co_return answer_error(exchange, proven.error());
    const auto opened = co_await uses_.kept.open(std::move(*proven), credential->is_key());
    if (!opened) co_return exchange.respond_error(opened.error());
    // Of a browser that signs in again, the old session is no longer valid.
    if (const auto before = session_of(exchange.request()))
        uses_.kept.sessions().end(before->number);
    access_.answer_opened(exchange, *opened);
}

Task<void> ConsoleDoor::sign_out(net::HttpExchange& exchange) {
    const auto session = session_of(exchange.request());
    if (!session) co_return exchange.respond_error(session.error());
    const auto ended = co_await uses_.kept.sign_out(session->number);
    if (!ended) co_return exchange.respond_error(ended.error());
    access_.answer_ended(exchange);
}

Task<void> ConsoleDoor::prove_key(net::HttpExchange& exchange) {
    const auto session = session_of(exchange.request());
    if (!session) co_return exchange.respond_error(session.error());
    if (refuse_try(exchange)) co_return;
    const auto credential = Credential::read(exchange.request().body);
    if (!credential || !credential->is_key())
        co_return exchange.respond_error(
            400, "INVALID_ARGS", "key_id, nonce and signature (base64), or passkey are required");
    const auto proven = co_await prove(exchange.request(), *credential);
    // not 401: the session goes on
    if (!proven && proven.error().code == ErrorCode::kUnauthenticated)
        co_return exchange.respond_error(403, token_of(ErrorCode::kAuthRequired),
                                         proven.error().message);
    if (!proven) co_return answer_error(exchange, proven.error());
    // Whoever has the session can make a caller's key under its name; an operator's needs a proof.
    const core::Principal& owner = *proven->principal;
    if (owner.id != session->principal || (is_operator(*session) && !owner.roles.are_of_operator()))
        co_return exchange.respond_error(403, "FORBIDDEN",
                                         "this is the key of somebody else, or of no operator");
    uses_.kept.prove(session->number, owner.credential_id);
    exchange.respond(204, "", "");
}

void ConsoleDoor::challenge(net::HttpExchange& exchange) {
    std::string text;
    json::Writer writer(text);
    writer.begin_object().key("nonce").string(uses_.keys.challenge());
    writer.key("expires_in_ms").integer(trust::DeviceKeys::kChallengeLifetime.count());
    writer.end_object();
    exchange.respond(200, net::kJsonType, text, {{"Cache-Control", "no-store"}});
}

Task<void> ConsoleDoor::serve_api(net::HttpExchange& exchange, std::string_view method) {
    const net::HttpRequest& request = exchange.request();
    const auto session = session_of(request);
    if (!session) co_return exchange.respond_error(session.error());
    if (!exchange.prove_caller(session->principal))
        co_return exchange.respond_error(429, "RATE_LIMITED",
                                         "too many requests of yours are under way");
    ApiRelay::Passed passed{.session = session->number,
                            .method = method,
                            .target = api_target(request, access_.root()),
                            .acting = uses_.kept.acting(session->number)};
    const std::string_view path(passed.target);
    if (const auto refused = rights_.refuse(*session, method, path.substr(0, path.find('?')),
                                            request.body, uses_.loop.clock().steady_now()))
        co_return exchange.respond_error(*refused);
    co_await relay_.pass(exchange, std::move(passed));
}

std::optional<net::Upgrade> ConsoleDoor::upgrade(const net::HttpRequest& request,
                                                 const net::WebSocketOffer& offer) {
    if (!is_open()) return std::nullopt;
    if (request.path() != access_.root() + "api/ws/chat")
        return refusal_of({.code = ErrorCode::kNotFound, .message = "there is no WebSocket here"});
    if (!offer) return net::AcceptUpgrade{};  // the server refuses what is wrong with it
    return open_socket(request, *offer);
}

net::Upgrade ConsoleDoor::open_socket(const net::HttpRequest& request,
                                      const net::WebSocketUpgrade& offer) {
    auto admitted = access_.admit_websocket(request, origin_of(request), offer.protocols);
    if (!admitted) return refusal_of(admitted.error());
    const ConsoleSession& session = admitted->session;
    if (!uses_.kept.lets_in(session.roles) || !uses_.kept.principal_of(session))
        return refusal_of(access_.no_session());
    return relay_.open_socket(
        offer, {.session = session.number,
                .target = api_target(request, access_.root()),
                .chosen = std::move(admitted->chosen),
                .acting = uses_.kept.acting(session.number),
                .instead = [this, number = session.number](
                               std::string_view frame) { return refuse_frame(number, frame); },
                .owner = session.principal});
}

std::optional<std::string> ConsoleDoor::refuse_frame(std::uint64_t number, std::string_view frame) {
    const auto session = uses_.kept.sessions().find_open(number);
    const auto refused =
        session ? rights_.refuse_frame(*session, frame, uses_.loop.clock().steady_now())
                : std::optional(access_.no_session());
    if (!refused) return std::nullopt;
    std::string text;
    json::Writer writer(text);
    writer.begin_object().key("type").string("error").key("code").string(token_of(refused->code));
    writer.key("message").string(refused->message).end_object();
    return text;
}

void ConsoleDoor::end_what_is_over() {
    relay_.end_running(
        [this](std::uint64_t number) { return !uses_.kept.sessions().is_alive(number); });
}

void ConsoleDoor::stop(std::function<void()> done) {
    relay_.end_running([](std::uint64_t) { return true; });
    relay_.abort_sockets();
    gateway_.close();
    relay_.stop(std::move(done));
}

}  // namespace crab::console
