#include "adapters/mcp/server/endpoint_post.hpp"
#include "base/scope_exit.hpp"
#include "net/codec/url.hpp"

#include <utility>

#include <fmt/format.h>

/// HTTP+SSE of 2024-11-05: a session is a stream, and what its client says comes by POST.
/// Source: docs/protocols/mcp.md, section 2.7.
namespace crab::mcp {
namespace {

/// A body where no batches are taken.
std::expected<Body, Refusal> read_one(std::string_view text, json::Parser& parser) {
    MessageReading message = read_message(text, parser);
    if (!message) return std::unexpected(std::move(message.error()));
    std::expected<Body, Refusal> body;
    body->messages.push_back(std::move(message));
    return body;
}

}  // namespace

Task<void> Endpoint::get_sse(net::HttpExchange& exchange, core::PrincipalRef principal) {
    if (!Accepted::read(exchange.request().find("accept").value_or("")).events)
        co_return refuse(exchange, 406, "Accept: text/event-stream is all that GET has");
    sweeper_.look_later();
    const auto session = state_.sessions.open({.id = {},
                                               .label = {},
                                               .principal = principal->id,
                                               .tenant = principal->tenant.text(),
                                               .credential = principal->credential_id,
                                               .revision = Revision::k2024_11_05,
                                               .capabilities = {},
                                               .client = {},
                                               .scope = scope().name,
                                               .sse = true});
    const ScopeExit over([&] { state_.sessions.end(session); });
    const std::string endpoint = fmt::format("/mcp/messages?session={}", session->facts().id);
    co_await streams_.serve_sse(exchange, session, std::move(principal), endpoint);
}

Task<void> Endpoint::post_sse(net::HttpExchange& exchange, core::PrincipalRef principal) {
    const net::HttpRequest& http = exchange.request();
    const PostFields fields = PostFields::read(http.head.headers);
    if (!is_json(fields.content_type.value_or("")))
        co_return refuse(exchange, 415, "Content-Type: application/json is all that is read");
    const auto id = net::find_query(http.query(), "session");
    auto session = id ? state_.sessions.find(*id, *principal) : nullptr;
    if (!session || !session->facts().sse)
        co_return refuse(exchange, 404, "there is no such session: GET /mcp/sse opens one");
    Post post{.exchange = exchange,
              .principal = std::move(principal),
              .accepted = {},
              .session = std::move(session),
              .fields = fields};
    const bool complete = post.session->is_complete();
    if (complete && fields.version && *fields.version != name_of(post.session->facts().revision))
        co_return refuse(exchange, 400, "MCP-Protocol-Version is not that of the session");
    const bool batches = complete && features_of(post.session->facts().revision).batches;
    auto body = batches ? read_body(http.body, parser_) : read_one(http.body, parser_);
    parser_.shrink();
    if (!body || (!body->is_batch && !body->messages.front())) {
        const Refusal& why = body ? body->messages.front().error() : body.error();
        co_return respond_error(exchange, why.http_status, why.id, Era::kLegacy, why.error);
    }
    // What is on the way to the client's answer may need its next message, which must not wait
    // behind this one on a connection that is kept.
    exchange.close_when_done();
    exchange.keep_running_when_caller_leaves();
    exchange.respond(202, "", "");
    const Session::Use use(post.session);
    PostAnswer::Options options = answer_options(post);
    options.elsewhere = true;
    PostAnswer answer(exchange, std::move(options));
    for (MessageReading& each : body->messages) {
        if (!each) {
            const Refusal& why = each.error();
            std::string error;
            append_error(error, why.id ? &*why.id : nullptr, Era::kLegacy, with_token(why.error));
            answer.respond(std::move(error));
        } else if (each->kind != Message::Kind::kRequest) {
            take_notification(*post.session, *each);
        } else if (auto reply = co_await reply_on_stream(post, *each, answer)) {
            answer.respond(std::move(reply->message));
        }
    }
}

Task<std::optional<Reply>> Endpoint::reply_on_stream(Post& post, Message& message,
                                                     PostAnswer& answer) {
    Session& session = *post.session;
    if (message.method == "initialize" && !session.is_complete()) {
        const auto opening = Opening::read(message.params, state_.options.versions);
        const Revision revision = opening ? opening->revision : Revision::k2024_11_05;
        const ClientRequest request = request_of(post, message, revision);
        if (!opening) co_return Reply::of_error(request, opening.error());
        // of two at a time the other one is told that it is open
        if (session.complete(revision, opening->capabilities, opening->client))
            co_return methods_.opened(request);
        co_return co_await reply_of(post.exchange, request, answer);
    }
    const bool complete = session.is_complete();
    const bool is_served = complete || message.method == "ping";
    const ClientRequest request =
        request_of(post, message, complete ? session.facts().revision : Revision::k2024_11_05);
    if (is_served) co_return co_await reply_of(post.exchange, request, answer);
    co_return Reply::of_error(request, {.code = rpc_code::kInvalidRequest,
                                        .message = "begin the session with `initialize`",
                                        .data = {}});
}

}  // namespace crab::mcp
