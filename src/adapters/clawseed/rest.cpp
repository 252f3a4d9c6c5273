// The REST surface of docs/protocols/clawseed.md, section 8: pairing, tools, status, webhooks.

#include "adapters/clawseed/front.hpp"
#include "adapters/clawseed/session_list.hpp"
#include "adapters/clawseed/store_error.hpp"
#include "base/encoding.hpp"
#include "base/error_kind.hpp"
#include "base/scope_exit.hpp"
#include "base/task/waiter.hpp"
#include "core/call/content_digest.hpp"
#include "core/call/traceparent.hpp"
#include "core/pipeline/keyed_run.hpp"
#include "crypto/signature.hpp"
#include "json/display_name.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/url.hpp"
#include "trust/refused_credentials.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>

namespace crab::clawseed {
namespace {

std::string_view source_type(core::SourceKind kind) {
    switch (kind) {
        case core::SourceKind::kBuiltIn:
        case core::SourceKind::kCommand: return "builtin";
        case core::SourceKind::kMcpServer: return "mcp";
        case core::SourceKind::kDevice:
        case core::SourceKind::kPeer:
        case core::SourceKind::kProvider: return "remote";
    }
    return "builtin";
}

void append_session(json::Writer& writer, const core::ChatSession& session) {
    writer.begin_object()
        .key("session_id")
        .string(session.id.text())
        .key("created_at")
        .string(to_rfc3339(session.created_at));
    writer.key("last_activity")
        .string(to_rfc3339(session.last_activity))
        .key("message_count")
        .unsigned_integer(session.message_count);
    if (!session.name.empty()) writer.key("name").string_lossy(session.name);
    if (!session.persona.empty()) writer.key("persona").string_lossy(session.persona);
    writer.end_object();
}

/// The target of a webhook's turn: nobody reads its frames.
class NoTarget final : public FrameTarget {
public:
    void send_frame(std::string) override {}
    ConnectionId connection() const override { return {}; }
};

/// The end of a webhook's turn, which comes from the chat's event loop.
struct TurnAnswer : RemoteWaiter {
    using RemoteWaiter::RemoteWaiter;
    std::mutex mutex;
    std::optional<Result<std::string>> answer;
    bool called_tools = false;
};

constexpr std::string_view kWebhook = "/webhook";
constexpr std::size_t kMostKeyBytes = 256;
constexpr std::chrono::seconds kLongestTurn{300};
constexpr std::chrono::seconds kAbortedTurnEnds{10};   // for a turn that was aborted to end
constexpr std::chrono::seconds kStoring{2};  // for the end of a turn to be durable

/// Stands for the webhook where the content of calls is compared; no tool can have its name.
const core::Tool& webhook_as_tool() {
    static const core::Tool tool = [] {
        core::Tool made;
        made.spec.name = made.unique_name = kWebhook;
        return made;
    }();
    return tool;
}

/// How a turn ended: for the first caller, and for those who repeat it.
void respond_turn(net::HttpExchange& exchange, const core::Outcome& outcome, bool replayed) {
    if (outcome) {
        const std::string_view body = outcome->content;
        return exchange.respond(
            200, net::kJsonType,
            replayed ? fmt::format(R"({},"replayed":true}})", body.substr(0, body.size() - 1))
                     : std::string(body));
    }
    const Error& error = outcome.error();
    if (error.code == ErrorCode::kTimeout)
        return exchange.respond_error(504, "TIMEOUT", error.message);
    const std::string_view code = turn_code(error.code);
    const int http = code == "PROVIDER_ERROR" ? 503
                     : code == "RATE_LIMITED" ? 429
                     : code == "FORBIDDEN"    ? 403
                                              : 502;
    exchange.respond_error(http, code, error.message);
}

/// Why the ledger lets nothing run.
void respond_refusal(net::HttpExchange& exchange, const Error& error) {
    struct Form {
        ErrorCode code;
        int status;
    };
    static constexpr std::array kForms{
        Form{ErrorCode::kConflict, 409}, Form{ErrorCode::kOutcomeUnknown, 409},
        Form{ErrorCode::kAlreadyInProgress, 409}, Form{ErrorCode::kRateLimited, 429},
        Form{ErrorCode::kTimeout, 504}};
    const auto form = std::ranges::find(kForms, error.code, &Form::code);
    if (form != kForms.end())
        return exchange.respond_error(form->status, token_of(error.code), error.message);
    exchange.respond_error(
        503, "UNAVAILABLE",
        "this request could not be recorded, so it was not begun; call again, or ask the operator");
}

/// The key that a device wants to be known by, in DER; empty: it wants a token.
Result<std::string> read_own_key(const Result<json::Root>& root) {
    const auto given = root ? json::get_string(root->element(), "public_key") : std::nullopt;
    if (!given) return std::string();
    const auto der = from_base64(*given);
    if (!der) return fail(ErrorCode::kInvalidArgs, "/public_key: not base64");
    auto key = crypto::read_signing_key(*der);
    if (!key) return fail(key.error());
    return std::move(key->der);
}

void respond_paired(net::HttpExchange& exchange, const trust::IssuedToken& issued) {
    std::string& out =
        exchange.begin_response(200, net::kJsonType, {{"Cache-Control", "no-store"}});
    json::Writer writer(out);
    writer.begin_object().key("paired").boolean(true).key("persisted").boolean(true);
    if (issued.record.public_key.empty()) {
        writer.key("token").string(issued.token.reveal());
    } else {
        writer.key("key_id").string(issued.record.id).key("device").string(issued.slug);
    }
    writer.key("message").string(fmt::format("paired as {}", issued.slug)).end_object();
    exchange.finish_response();
}

void respond_too_many_tries(net::HttpExchange& exchange, const Error& error) {
    const auto wait = error.retry_after.value_or(Milliseconds(60'000));
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
    const std::string text = fmt::format("{}", seconds);
    const net::HttpHeader header{"Retry-After", text};
    std::string& out = exchange.begin_response(429, net::kJsonType, std::span(&header, 1));
    json::Writer(out)
        .begin_object()
        .key("error")
        .string(error.message)
        .key("code")
        .string("RATE_LIMITED")
        .key("retry_after")
        .integer(seconds)
        .end_object();
    exchange.finish_response();
}

void respond_not_paired(net::HttpExchange& exchange, const Error& error) {
    switch (kind_of(error.code)) {
        case ErrorKind::kRateLimited: return respond_too_many_tries(exchange, error);
        case ErrorKind::kNotFound: return exchange.respond_error(404, "NOT_FOUND", error.message);
        case ErrorKind::kRefused: return exchange.respond_error(403, "FORBIDDEN", error.message);
        case ErrorKind::kInvalid:
        case ErrorKind::kUnauthenticated:
        case ErrorKind::kConflict:
        case ErrorKind::kUnavailable:
        case ErrorKind::kTimeout:
        case ErrorKind::kOutcomeUnknown:
        case ErrorKind::kFailed: return respond_store_error(exchange, error);
    }
}

void respond_no_session(net::HttpExchange& exchange, const Error& error) {
    int status = 401;
    if (error.code == ErrorCode::kRateLimited) status = 429;
    if (error.code == ErrorCode::kUnavailable) status = 503;
    exchange.respond_error(status, token_of(error.code), error.message);
}

/// Why a webhook's question cannot be asked. What it cannot pass on is never dropped silently.
std::optional<std::string> wrong_question(json::Element question) {
    if (json::get_string(question, "message").value_or("").empty())
        return "/message: required, a string that is not empty";
    for (const std::string_view member : {"attachments", "files"}) {
        const auto value = json::get(question, member);
        simdjson::dom::array list;
        if (!value || value->is_null()) continue;
        if (value->get(list) != simdjson::SUCCESS || list.size() > 0)
            return fmt::format(
                "/{}: a webhook takes text alone; send it in a `message` over the "
                "chat's WebSocket",
                member);
    }
    return std::nullopt;
}

}  // namespace

Task<void> Front::pair(net::HttpExchange& exchange) {
    const ScopeExit done([this] { parser_.shrink(); });
    const auto code = exchange.request().find("x-pairing-code");
    const std::string address = exchange.request().peer.ip();
    std::string public_key;
    if (const std::string_view body = exchange.request().body; !body.empty()) {
        auto own_key = read_own_key(parser_.parse(body));
        if (!own_key)
            co_return exchange.respond_error(400, "INVALID_ARGS", own_key.error().message);
        public_key = std::move(*own_key);
    }
    auto work = [&codes = services_.codes, given = std::string(code.value_or("")), address,
                 public_key] { return codes.redeem(given, address, public_key); };
    const auto issued = co_await services_.pool.run(std::move(work));
    if (!issued) {
        trust::log_refused_credential("pairing code", address, issued.error().message);
        co_return respond_not_paired(exchange, issued.error());
    }
    respond_paired(exchange, *issued);
    services_.hub.services().audit.append_event(
        {.kind = "device.paired", .by = "device/" + issued->slug}, [&](json::Writer& paired) {
            paired.key("device").string(issued->slug).key("token_id").string(issued->record.id);
        });
}

/// A key's holder asks for something to sign. Open to everybody: what it costs is an HMAC, and
/// nothing is remembered.
void Front::challenge(net::HttpExchange& exchange) {
    std::string& out =
        exchange.begin_response(200, net::kJsonType, {{"Cache-Control", "no-store"}});
    json::Writer(out)
        .begin_object()
        .key("nonce")
        .string(services_.keys.challenge())
        .key("expires_in_ms")
        .integer(trust::DeviceKeys::kChallengeLifetime.count())
        .end_object();
    exchange.finish_response();
}

/// A signature (90 µs to verify) is exchanged for a bearer token.
Task<void> Front::key_token(net::HttpExchange& exchange) {
    const ScopeExit done([this] { parser_.shrink(); });
    const auto root = parser_.parse(exchange.request().body);
    const auto member = [&](std::string_view name) {
        return root ? json::get_string(root->element(), name).value_or("") : std::string_view();
    };
    const std::string key_id(member("key_id")), nonce(member("nonce"));
    const auto signature = from_base64(member("signature"));
    if (key_id.empty() || nonce.empty() || !signature) {
        co_return exchange.respond_error(
            400, "INVALID_ARGS", "key_id, nonce and signature (base64 of 64 bytes) are required");
    }
    const std::string address = exchange.request().peer.ip();
    auto work = [&keys = services_.keys, key_id, nonce, signed_by = *signature, address] {
        return keys.exchange(key_id, nonce, signed_by, address);
    };
    const auto session =
        services_.keys.block() ? co_await services_.pool.run(std::move(work)) : work();
    if (!session) {
        trust::log_refused_credential("device key", address, session.error().message);
        co_return respond_no_session(exchange, session.error());
    }
    std::string& out =
        exchange.begin_response(200, net::kJsonType, {{"Cache-Control", "no-store"}});
    json::Writer(out)
        .begin_object()
        .key("token")
        .string(session->token.reveal())
        .key("expires_at")
        .string(to_rfc3339(session->expires_at))
        .end_object();
    exchange.finish_response();
}

void Front::list_tools(net::HttpExchange& exchange, const core::Principal& principal) {
    std::string& out = exchange.begin_response(200, net::kJsonType);
    json::Writer writer(out);
    writer.begin_object().key("tools").begin_array();
    for (const auto& [name, tool] : services_.pipeline.list(principal)) {
        writer.begin_object()
            .key("name")
            .string(name)
            .key("description")
            .string(tool->spec.description)
            .key("parameters")
            .raw(tool->spec.input_schema);
        writer.key("enabled")
            .boolean(true)
            .key("source_type")
            .string(source_type(tool->source.kind));
        writer.key("source")
            .string(tool->source.name.empty() ? std::string_view("gateway")
                                              : std::string_view(tool->source.name))
            .end_object();
    }
    writer.end_array().end_object();
    exchange.finish_response();
}

void Front::status(net::HttpExchange& exchange) {
    const auto uptime = std::chrono::duration_cast<std::chrono::seconds>(
                            loop_.clock().steady_now() - services_.facts.started)
                            .count();
    std::string& out = exchange.begin_response(200, net::kJsonType);
    json::Writer writer(out);
    const core::TurnAgent agent = services_.runner.agent_of({});
    writer.begin_object()
        .key("provider")
        .string(agent.provider)
        .key("model")
        .string(agent.model)
        .key("temperature")
        .number(0.0);
    writer.key("uptime_seconds")
        .integer(uptime)
        .key("gateway_port")
        .unsigned_integer(services_.facts.port)
        .key("paired")
        .boolean(true);
    writer.key("memory")
        .begin_object()
        .key("backend")
        .string("none")
        .key("count")
        .integer(0)
        .end_object();
    writer.key("image_attachments")
        .begin_object()
        .key("supported")
        .boolean(agent.sees_pictures)
        .key("max_images_per_message")
        .unsigned_integer(core::kMostPictures);
    writer.key("max_image_bytes")
        .unsigned_integer(core::kMostPictureBytes)
        .key("max_dimension")
        .unsigned_integer(core::kMostPictureSide)
        .end_object();
    writer.key("file_attachments_supported")
        .boolean(agent.reads_files)
        .key("ask_user_supported")
        .boolean(agent.asks)
        .key("background_jobs_supported")
        .boolean(false);
    writer.key("channels")
        .begin_object()
        .end_object()
        .key("health")
        .begin_object()
        .key("status")
        .string("ok")
        .end_object()
        .end_object();
    exchange.finish_response();
}

Task<void> Front::list_sessions(net::HttpExchange& exchange, core::PrincipalRef principal,
                                bool running_only) {
    const auto wanted =
        running_only ? SessionsWanted() : SessionsWanted::read(exchange.request().query());
    if (!wanted) co_return exchange.respond_error(wanted.error());
    std::vector<core::ChatSession> sessions;
    if (!running_only) {
        const std::shared_ptr<void> place = services_.hub.requests().take(principal->id);
        if (!place) co_return respond_too_many(exchange);
        auto work = [&chats = services_.hub.services().chats, owner = principal->id] {
            return chats.list(owner);
        };
        auto stored = co_await services_.hub.services().store_pool.run(std::move(work));
        if (!stored) {
            respond_store_error(exchange, stored.error());
            co_return;
        }
        sessions = std::move(*stored);
    }
    for (const auto& chat : services_.hub.chats_of(*principal)) {
        if (chat->is_forgotten() || (running_only && chat->state() != ChatState::kRunning))
            continue;
        const bool known = std::ranges::any_of(
            sessions, [&](const auto& session) { return session.id.text() == chat->id(); });
        if (!known) sessions.push_back(chat->session());
    }
    std::string& out = exchange.begin_response(200, net::kJsonType);
    json::Writer writer(out);
    writer.begin_object().key("sessions").begin_array();
    const SessionPage page = page_of(std::move(sessions), *wanted);
    for (const auto& session : page.sessions) append_session(writer, session);
    writer.end_array();
    if (!page.cursor.empty()) writer.key("cursor").string(page.cursor);
    writer.end_object();
    exchange.finish_response();
}

/// Nothing for one that is malformed, which is to be ignored.
std::string_view named_parent(std::string_view traceparent) {
    return core::parse_traceparent(traceparent) ? traceparent : std::string_view();
}

/// What is asked by a webhook.
struct Front::WebhookQuestion {
    std::string content, persona, session_id, traceparent;
};

/// How it ended.
struct Front::WebhookEnd {
    core::Outcome outcome;
    bool opened = true;          ///< there is such a chat session, and it is the caller's
    bool called_tools = false;   ///< a turn that failed may have had effects
    bool ended = true;           ///< else nobody knows what comes of it
};

Task<void> Front::webhook(net::HttpExchange& exchange, core::PrincipalRef principal) {
    const ScopeExit done([this] { parser_.shrink(); });
    const net::HttpRequest& request = exchange.request();
    const auto root = parser_.parse(request.body);
    const auto wrong = root ? wrong_question(root->element()) : root.error().message;
    if (wrong) {
        exchange.respond_error(400, "INVALID_ARGS", *wrong);
        co_return;
    }
    WebhookQuestion question{
        .content = std::string(*json::get_string(root->element(), "message")),
        .persona = std::string(json::get_string(root->element(), "persona")
                                   .value_or(request.find("x-persona").value_or(""))),
        .session_id = std::string(request.find("x-session-id").value_or("")),
        .traceparent = std::string(named_parent(request.find("traceparent").value_or("")))};
    if (!question.session_id.empty() && !core::is_chat_session_id(question.session_id)) {
        exchange.respond_error(400, "INVALID_ARGS",
                               "X-Session-Id is 1 to 128 of A-Z a-z 0-9 . _ -");
        co_return;
    }
    const std::string given(request.find("x-idempotency-key").value_or(""));
    if (given.size() > kMostKeyBytes) {
        exchange.respond_error(400, "INVALID_ARGS", "X-Idempotency-Key has at most 256 bytes");
        co_return;
    }
    if (given.empty()) {
        const WebhookEnd end = co_await run_webhook(std::move(question), principal);
        co_return respond(exchange, end);
    }
    // What a repeat asks for goes on when its first caller leaves, and does not begin again.
    exchange.keep_running_when_caller_leaves();
    core::Call call;
    call.args = request.body;
    // the header fields choose who answers, and where
    const std::string where = fmt::format("{}\n{}", question.session_id, question.persona);
    const core::ContentDigest content =
        core::digest_of(call, webhook_as_tool(), where, root->element());
    const std::string key = fmt::format("{} {}", kWebhook, given);
    core::KeyedRun run({.clock = loop_.clock(),
                        .ledger = services_.ledger,
                        .journal = services_.journal,
                        .home = loop_.executor(),
                        .timers = loop_.timers()});
    const core::LedgerKey whose{
        .tenant = principal->tenant.text(), .principal = principal->id, .key = key};
    const auto known =
        co_await run.begin(whose, kWebhook, content, loop_.clock().steady_now() + kLongestTurn);
    if (known.outcome && !known.replayed)
        co_return respond_refusal(exchange, known.outcome->error());
    if (known.outcome) co_return respond_turn(exchange, *known.outcome, true);
    const WebhookEnd end = co_await run_webhook(std::move(question), principal);
    if (end.ended && (end.outcome || end.called_tools))
        co_await run.end(end.outcome, loop_.clock().steady_now() + kStoring);
    if (end.ended) run.release();  // if nothing has happened: then a repeat may try again
    respond(exchange, end);
}

void Front::respond(net::HttpExchange& exchange, const WebhookEnd& end) {
    if (end.opened) return respond_turn(exchange, end.outcome, false);
    const OpeningRefusal refusal = refusal_of(end.outcome.error());
    exchange.respond_error(refusal.status, refusal.code, end.outcome.error().message);
}

Task<Front::WebhookEnd> Front::run_webhook(WebhookQuestion asked, core::PrincipalRef principal) {
    auto opened = services_.hub.open_chat(principal, asked.session_id, "", asked.persona);
    if (!opened) co_return WebhookEnd{.outcome = fail(std::move(opened.error())), .opened = false};
    auto ended = std::make_shared<TurnAnswer>(loop_.executor(), loop_.timers());
    const auto asker = std::make_shared<NoTarget>();
    ChatQuestion question{.asker = asker,
                          .content = std::move(asked.content),
                          .regenerate = false,
                          .debug = false,
                          .prefer_source = {},
                          .traceparent = std::move(asked.traceparent),
                          .on_end = [ended](const Result<std::string>& answer, bool called_tools) {
                              {
                                  const std::scoped_lock lock(ended->mutex);
                                  ended->answer = answer;
                                  ended->called_tools = called_tools;
                              }
                              ended->wake();
                          }};
    opened->chat->ask(std::move(question));
    const auto take = [&] {
        const std::scoped_lock lock(ended->mutex);
        return std::pair(ended->answer, ended->called_tools);
    };
    (void)co_await ended->wait(loop_.clock().steady_now() + kLongestTurn);
    auto [answer, called_tools] = take();
    const bool in_time = answer.has_value();
    if (!in_time) {
        opened->chat->withdraw(asker);
        (void)co_await ended->wait(loop_.clock().steady_now() + kAbortedTurnEnds);
        std::tie(answer, called_tools) = take();
    }
    opened->chat_ref.release();
    services_.hub.settle_chat(opened->chat);
    if (!in_time)
        co_return WebhookEnd{.outcome = fail(ErrorCode::kTimeout, "the turn did not end in time"),
                             .called_tools = called_tools,
                             .ended = answer.has_value()};
    if (!*answer)
        co_return WebhookEnd{.outcome = fail(std::move(answer->error())),
                             .called_tools = called_tools};
    core::ToolResult said{.kind = core::ContentKind::kJson, .content = {}};
    json::Writer(said.content)
        .begin_object()
        .key("response")
        .string_lossy(**answer)
        .key("model")
        .string(services_.runner.agent_of(opened->session.persona).model)
        .key("session_id")
        .string(opened->session.id.text())
        .end_object();
    co_return WebhookEnd{.outcome = std::move(said)};
}

}  // namespace crab::clawseed
