#include "adapters/mcp/server/endpoint.hpp"

#include "adapters/mcp/server/call_answer.hpp"
#include "adapters/mcp/server/endpoint_post.hpp"
#include "base/scope_exit.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"

#include <initializer_list>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace crab::mcp {

void refuse(net::HttpExchange& exchange, int status, std::string message,
            std::span<const net::HttpHeader> headers) {
    std::string body;
    append_error(
        body, nullptr, Era::kModern,
        with_token({.code = rpc_code::kInvalidRequest, .message = std::move(message), .data = {}}));
    exchange.respond(status, kJsonType, body, headers);
}

void respond_error(net::HttpExchange& exchange, int status, const std::optional<RequestId>& id,
                   Era era, const RpcError& error) {
    std::string body;
    append_error(body, id ? &*id : nullptr, era, with_token(error));
    exchange.respond(status, kJsonType, body);
}

bool is_json(std::string_view content_type) {
    return content_type == kJsonType ||  // as nearly all write it
           equals_lower(trim(content_type.substr(0, content_type.find(';'))), kJsonType);
}

std::expected<Opening, RpcError> Opening::read(std::string_view params,
                                               const RevisionSet& versions) {
    const auto asked = json::find_raw_string(params, "protocolVersion");
    if (!asked)
        return std::unexpected(RpcError{
            .code = rpc_code::kInvalidParams, .message = "protocolVersion: a string", .data = {}});
    const auto revision = versions.negotiate(*asked);
    if (!revision)
        return std::unexpected(RpcError{.code = rpc_code::kUnsupportedVersion,
                                        .message = "no version with sessions is spoken here",
                                        .data = {}});
    return Opening{
        .revision = *revision,
        .capabilities =
            read_client_capabilities(json::find_raw(params, "capabilities").value_or("")),
        .client = ClientIdentity::read(json::find_raw(params, "clientInfo").value_or(""))};
}

namespace {

std::optional<json::Element> params_of(const Message& message) {
    if (!message.parsed_params || !message.parsed_params->holds()) return std::nullopt;
    return message.parsed_params->element();
}

/// A client's JSON-RPC error, in the place of an answer.
Error client_error(const RpcError& error) {
    Error out{.code = ErrorCode::kToolFailed, .message = error.message};
    json::Writer writer(out.details);
    writer.begin_object().key("code").integer(error.code);
    writer.key("message").string(error.message);
    if (!error.data.empty()) writer.key("data").raw(error.data);
    writer.end_object();
    return out;
}

/// To the requests of a batch behind those whose responses are as large as a reply may be.
std::optional<Reply> too_large_together(const ClientRequest& request) {
    return Reply::of_error(
        request, {.code = rpc_code::kInternalError,
                  .message = "the answers to this batch are too large: nothing of this request was "
                             "run, send it alone",
                  .data = {}});
}

/// To a request whose id is that of another one, whose answer it could be taken for.
Reply id_in_use(const ClientRequest& request) {
    const Error error{.code = ErrorCode::kConflict,
                      .message = "a request with this id still runs in this session"};
    return Reply::of_error(request, rpc_error(error, rpc_code::kInvalidRequest), 400);
}

FindHeader finder(const net::HttpRequest& request) {
    return [&request](std::string_view name) { return request.find(lower_case(name)); };
}

}  // namespace

Endpoint::Endpoint(const Uses& uses, const Scope& scope)
    : loop_(uses.loop),
      state_(uses.state),
      lists_(uses.pipeline, uses.registry, scope, uses.search.index != nullptr),
      catalog_lists_(uses.pipeline, uses.catalogs, lists_),
      calls_({.loop = uses.loop,
              .pipeline = uses.pipeline,
              .calls = uses.calls,
              .state = uses.state,
              .tools = lists_,
              .catalogs = catalog_lists_,
              .artifacts = uses.artifacts,
              .away = uses.away,
              .search = uses.search}),
      methods_(uses.state, lists_, catalog_lists_, uses.watches),
      streams_({.loop = uses.loop,
                .state = uses.state,
                .registry = uses.registry,
                .catalogs = uses.catalogs,
                .watches = uses.watches,
                .tools = lists_,
                .catalog_lists = catalog_lists_}),
      parser_(json::Limits{.max_bytes = uses.state.options.max_request}),
      sweeper_(uses.loop, uses.state) {}

/// Null also for one of another scope, whose lists are others, and for those of HTTP+SSE.
std::shared_ptr<Session> Endpoint::find_session(std::string_view id,
                                                const core::Principal& principal) {
    auto session = state_.sessions.find(id, principal);
    const bool is_ours = session && session->facts().scope == scope().name && !session->facts().sse;
    return is_ours ? session : nullptr;
}

/// For GET and DELETE; null when it has answered.
std::shared_ptr<Session> Endpoint::named_session(net::HttpExchange& exchange,
                                                 const core::Principal& principal) {
    static constexpr net::HttpHeader kAllow{"Allow", "POST"};
    const auto id = exchange.request().find(kSessionField);
    if (!id) {
        refuse(exchange, 405, "GET and DELETE are about a session: name it in Mcp-Session-Id",
               std::span(&kAllow, 1));
        return nullptr;
    }
    auto session = find_session(*id, principal);
    if (!session) refuse(exchange, 404, "there is no such session: open one with `initialize`");
    return session;
}

void Endpoint::end_session(net::HttpExchange& exchange, const core::Principal& principal) {
    const auto session = named_session(exchange, principal);
    if (!session) return;
    state_.sessions.end(session);
    exchange.respond(204, "", "");
}

Task<void> Endpoint::get(net::HttpExchange& exchange, core::PrincipalRef principal) {
    const net::HttpRequest& request = exchange.request();
    auto session = named_session(exchange, *principal);
    if (!session) co_return;
    if (!Accepted::read(request.find("accept").value_or("")).events)
        co_return refuse(exchange, 406, "Accept: text/event-stream is all that GET has");
    const auto version = request.find(kVersionField);
    if (version && *version != name_of(session->facts().revision))
        co_return refuse(exchange, 400, "MCP-Protocol-Version is not that of the session");
    const auto last = request.find("last-event-id");
    if (!last)
        co_return co_await streams_.serve_session(exchange, std::move(session),
                                                  std::move(principal));
    const auto seen = EventId::parse(*last);
    if (!seen) co_return refuse(exchange, 400, "Last-Event-ID: not an id of this session's events");
    co_await streams_.resume(exchange, std::move(session), std::move(principal), *seen);
}

Task<void> Endpoint::post(net::HttpExchange& exchange, core::PrincipalRef principal,
                          Carrier carrier) {
    const net::HttpRequest& http = exchange.request();
    const PostFields fields = PostFields::read(http.head.headers);
    if (!is_json(fields.content_type.value_or("")))
        co_return refuse(exchange, 415, "Content-Type: application/json is all that is read");
    Post post{.exchange = exchange,
              .principal = std::move(principal),
              .accepted = Accepted::read(fields.accept.value_or("")),
              .carrier = carrier,
              .session = {},
              .fields = fields};
    if (!post.accepted.json && !post.accepted.events)
        co_return refuse(exchange, 406, "Accept: application/json, text/event-stream");
    sweeper_.look_later();
    if (fields.session) {
        post.session = find_session(*fields.session, *post.principal);
        post.named = post.session ? NamedSession::kLive : NamedSession::kUnknown;
    }
    if (post.session && features_of(post.session->facts().revision).batches)
        co_return co_await serve_body(post);
    Message message;
    const auto read = read_message(http.body, parser_, message);
    parser_.shrink();
    if (!read) co_return refuse_reading(post, read.error());
    const PostMeaning meaning = meaning_for(post, message);
    if (meaning == PostMeaning::kModern) co_await serve_modern(post, message);
    if (meaning == PostMeaning::kOfSession) co_await serve_legacy(post, message);
}

/// In a session that may send batches.
Task<void> Endpoint::serve_body(Post& post) {
    auto body = read_body(post.exchange.request().body, parser_);
    parser_.shrink();
    if (!body) co_return refuse_reading(post, body.error());
    if (body->is_batch) co_return co_await serve_batch(post, std::move(*body));
    MessageReading& message = body->messages.front();
    if (!message) co_return refuse_reading(post, message.error());
    const PostMeaning meaning = meaning_for(post, *message);
    if (meaning == PostMeaning::kModern) co_await serve_modern(post, *message);
    if (meaning == PostMeaning::kOfSession) co_await serve_legacy(post, *message);
}

void Endpoint::refuse_reading(Post& post, const Refusal& why) {
    respond_error(post.exchange, why.http_status, why.id, post.era(), why.error);
}

/// Answers what is refused, and what opens a session.
PostMeaning Endpoint::meaning_for(Post& post, Message& message) {
    const bool opens = message.kind == Message::Kind::kRequest && message.method == "initialize";
    PostContext context{.meta_names_version = message.meta.names_version,
                        .is_initialize = opens,
                        .version_header = post.fields.version,
                        .session = post.named};
    if (post.session) context.session_revision = post.session->facts().revision;
    const PostReading reading = meaning_of(context, state_.options.versions);
    switch (reading.meaning) {
        case PostMeaning::kModern: post.session = nullptr; break;
        case PostMeaning::kOpening: open_session(post, message); break;
        case PostMeaning::kOfSession: break;
        case PostMeaning::kRefused:
            respond_error(post.exchange, reading.http_status, message.id, post.era(),
                          reading.error);
    }
    return reading.meaning;
}

std::optional<json::Borrowed> Endpoint::parsed_arguments(const Message& message) const {
    const auto params = params_of(message);
    const auto arguments = params ? json::get(*params, "arguments") : std::nullopt;
    if (!arguments || !arguments->is_object()) return std::nullopt;
    return parser_.lend(*arguments);
}

ClientRequest Endpoint::request_of(const Post& post, Message& message, Revision revision) const {
    return {.id = std::move(*message.id),
            .method = std::move(message.method),
            .params = message.params,
            .parsed_args = parsed_arguments(message),
            .meta = std::move(message.meta),
            .revision = revision,
            .principal = post.principal,
            .session = post.session,
            .server_info = state_.server_info};
}

PostAnswer::Options Endpoint::answer_options(const Post& post) const {
    return {.accepted = post.accepted,
            .stream_after = state_.options.stream_after,
            .keepalive = state_.options.keepalive,
            .poll_after = state_.options.poll_after,
            .session = post.session};
}

std::expected<void, std::string> Endpoint::check_headers(const Post& post, const Message& message) {
    const auto params = params_of(message);
    auto checked = check_name_header(post.fields.name, message.method, params);
    if (!checked || message.method != "tools/call" || !params) return checked;
    const auto name = json::get_string(*params, "name");
    const auto* const declared = name ? calls_.header_params(post.principal, *name) : nullptr;
    if (declared == nullptr || declared->empty()) return checked;
    return check_param_headers(*declared, json::get(*params, "arguments"),
                               finder(post.exchange.request()));
}

Task<void> Endpoint::serve_modern(Post& post, Message& message) {
    net::HttpExchange& exchange = post.exchange;
    const auto mismatch = [&](const std::string& why) {
        respond_error(exchange, 400, message.id, Era::kModern,
                      {.code = rpc_code::kHeaderMismatch, .message = why, .data = {}});
    };
    const auto revision = check_modern_request(message.meta, post.carrier, post.fields.version,
                                               state_.options.versions);
    if (!revision)
        co_return respond_error(exchange, 400, message.id, Era::kModern, revision.error());
    const bool has_fields = post.carrier == Carrier::kHttp;
    const bool is_request = message.kind == Message::Kind::kRequest;
    if (has_fields) {
        if (const auto once = check_fields_once(post.fields); !once)
            co_return mismatch(once.error());
    }
    // clients leave it out of notifications, which change nothing here
    if (has_fields && (post.fields.method || is_request)) {
        const auto fits = check_method_header(post.fields.method, message.method);
        if (!fits) co_return mismatch(fits.error());
    }
    if (!is_request) co_return exchange.respond(202, "", "");
    const MethodKind kind = kind_of(message.method, Era::kModern);
    if (has_fields && kind != MethodKind::kUnknown) {
        if (const auto fit = check_headers(post, message); !fit) co_return mismatch(fit.error());
    }
    const ClientRequest request = request_of(post, message, *revision);
    if (kind == MethodKind::kListen) {
        if (!post.accepted.events)
            co_return refuse(exchange, 406, "subscriptions/listen is a stream of events");
        auto tasks = co_await calls_.tasks().watched(request);
        if (!tasks)
            co_return exchange.respond(tasks.error().status, kJsonType, tasks.error().message);
        co_return co_await streams_.listen(exchange, request, std::move(*tasks));
    }
    PostAnswer answer(exchange, answer_options(post));
    Reply reply;
    if (kind == MethodKind::kCall) {
        reply = co_await calls_.run(request, exchange, answer);
    } else if (kind == MethodKind::kTask) {
        reply = co_await calls_.tasks().answer(request);
    } else {
        reply =
            kind == MethodKind::kNow ? methods_.answer(request) : Methods::unknown_method(request);
    }
    answer.respond(std::move(reply.message), reply.status);
    answer.end();
}

void Endpoint::open_session(Post& post, Message& message) {
    auto opening = Opening::read(message.params, state_.options.versions);
    if (!opening)
        return respond_error(post.exchange, 400, message.id, Era::kLegacy, opening.error());
    const Revision revision = opening->revision;
    Session::Facts facts{.id = {},
                         .label = {},
                         .principal = post.principal->id,
                         .tenant = post.principal->tenant.text(),
                         .credential = post.principal->credential_id,
                         .revision = revision,
                         .capabilities = opening->capabilities,
                         .client = std::move(opening->client),
                         .scope = scope().name};
    post.session = state_.sessions.open(std::move(facts));
    const ClientRequest request = request_of(post, message, revision);
    PostAnswer::Options options = answer_options(post);
    options.session = nullptr;  // its answer is not resumed
    options.session_header = post.session->facts().id;
    PostAnswer answer(post.exchange, std::move(options));
    answer.respond(methods_.opened(request).message);
    answer.end();
}

/// What is no request: a notification, or the answer to something that the client was asked.
void Endpoint::take_notification(Session& session, const Message& message) {
    if (message.kind == Message::Kind::kResult && message.is_ambiguous && message.id) {
        // what is checked here would not be what who asked reads
        const RpcError twice{.code = rpc_code::kInvalidRequest,
                             .message = "the answer has two members of one name",
                             .data = {}};
        return session.take_response(*message.id, std::unexpected(client_error(twice)));
    }
    if (message.kind == Message::Kind::kResult && message.id)
        return session.take_response(*message.id, std::string(message.result));
    if (message.kind == Message::Kind::kError) {
        if (message.id)
            session.take_response(*message.id, std::unexpected(client_error(message.error)));
        return;
    }
    if (message.method != "notifications/cancelled") return;  // others mean nothing here
    const auto raw = json::find_raw(message.params, "requestId");
    if (const auto id = raw ? RequestId::read(*raw) : std::nullopt) session.cancel(*id);
}

Task<void> Endpoint::serve_legacy(Post& post, Message& message) {
    const Session::Use use(post.session);
    if (message.kind != Message::Kind::kRequest) {
        take_notification(*post.session, message);
        co_return post.exchange.respond(202, "", "");
    }
    const ClientRequest request = request_of(post, message, post.session->facts().revision);
    PostAnswer answer(post.exchange, answer_options(post));
    if (auto reply = co_await reply_of(post.exchange, request, answer))
        answer.respond(std::move(reply->message), reply->status);
    answer.end();
}

Task<void> Endpoint::serve_batch(Post& post, Body body) {
    const PostContext context{.version_header = post.fields.version,
                              .session = post.named,
                              .session_revision = post.session->facts().revision};
    const PostReading reading = meaning_of(context, state_.options.versions);
    if (reading.meaning != PostMeaning::kOfSession)
        co_return respond_error(post.exchange, reading.http_status, {}, post.era(), reading.error);
    const Session::Use use(post.session);
    PostAnswer::Options options = answer_options(post);
    options.is_batch = true;
    std::optional<PostAnswer> answer;
    for (MessageReading& each : body.messages) {
        const bool asks = !each || each->kind == Message::Kind::kRequest;
        if (asks && !answer) answer.emplace(post.exchange, options);
        if (!each) {
            std::string error;
            append_error(error, each.error().id ? &*each.error().id : nullptr, Era::kLegacy,
                         with_token(each.error().error));
            answer->respond(std::move(error));
        } else if (asks) {
            const ClientRequest request = request_of(post, *each, post.session->facts().revision);
            auto reply = too_large_together(request);
            if (!answer->is_full()) reply = co_await reply_of(post.exchange, request, *answer);
            if (reply) answer->respond(std::move(reply->message));
        } else {
            take_notification(*post.session, *each);
        }
    }
    if (!answer) co_return post.exchange.respond(202, "", "");
    answer->end();
}

Task<std::optional<Reply>> Endpoint::reply_of(net::HttpExchange& exchange,
                                              const ClientRequest& request, PostAnswer& answer) {
    const MethodKind kind = kind_of(request.method, Era::kLegacy);
    const bool is_now = kind == MethodKind::kNow;
    if (is_now && !request.session->runs(request.id)) co_return methods_.answer(request);
    if (is_now) co_return id_in_use(request);
    if (kind == MethodKind::kOpening)
        co_return Reply::of_error(request,
                                  {.code = rpc_code::kInvalidRequest,
                                   .message = "this session is open already",
                                   .data = {}},
                                  400);
    if (kind != MethodKind::kCall) co_return Methods::unknown_method(request);
    const auto running = request.session->begin(request.id, loop_.executor());
    if (!running && running.error().code == ErrorCode::kConflict) co_return id_in_use(request);
    if (!running) {
        const CallAnswer answer_now = answer_of_error(request, unplanned(request), running.error());
        co_return answer_now.reply(request);
    }
    exchange.keep_running_when_caller_leaves();
    (*running)->signal = &exchange.canceller();
    const ScopeExit over([&] {
        (*running)->signal = nullptr;
        request.session->finish(request.id);
    });
    Reply reply = co_await calls_.run(request, exchange, answer);
    if ((*running)->cancelled) co_return std::nullopt;
    co_return reply;
}

}  // namespace crab::mcp
