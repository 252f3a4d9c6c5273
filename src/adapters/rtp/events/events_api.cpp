#include "adapters/rtp/events/events_api.hpp"

#include "adapters/rtp/calls/call_wire.hpp"
#include "adapters/rtp/calls/route_errors.hpp"
#include "adapters/rtp/hosts/leases_wire.hpp"
#include "base/task/wakeup.hpp"
#include "crypto/certificate.hpp"
#include "json/writer.hpp"
#include "net/codec/sse.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::rtp {
namespace {

constexpr std::chrono::seconds kPublishTime{10};
constexpr std::uint16_t kNoStream = 1008;  // of a WebSocket
/// Bytes of a WebSocket that wait for the kernel, before the next are sent
constexpr std::size_t kMostQueued = 256 * 1024;

bool is_paired(const core::Principal& principal) {
    return principal.proof == core::Proof::kCertificate;
}
/// The component id of a paired peer: `<component_type>/<component_id>`.
std::string_view component_of(const core::Principal& principal) {
    const std::string_view id = principal.id;
    return is_paired(principal) ? id.substr(id.find('/') + 1) : std::string_view();
}
std::string_view type_of(const core::Principal& principal) {
    return std::string_view(principal.id).substr(0, principal.id.find('/'));
}

int status_of(ErrorCode code) {
    return code == ErrorCode::kInvalidArgs   ? 400
           : code == ErrorCode::kRateLimited ? 429
           : code == ErrorCode::kUnavailable ? 503
           : code == ErrorCode::kTimeout     ? 504
                                             : 500;
}

std::optional<crypto::Certificate> certificate_of(const net::HttpRequest& request) {
    if (!request.tls || request.connection == nullptr) return std::nullopt;
    auto certificate = crypto::Certificate::from_der(request.connection->peer_certificate_der());
    return certificate ? std::optional(std::move(*certificate)) : std::nullopt;
}

std::string fingerprint_of(const net::HttpRequest& request) {
    const auto certificate = certificate_of(request);
    return certificate ? certificate->fingerprint() : std::string();
}

}  // namespace

/// A stream over a WebSocket. The session holds it while it is open; the pump's task holds it too.
class EventsApi::Socket final : public net::WebSocketHandler,
                                public EventReceiver,
                                public std::enable_shared_from_this<Socket> {
public:
    Socket(EventsApi& api, core::PrincipalRef principal, Opening opening)
        : api_(api), principal_(std::move(principal)), opening_(std::move(opening)) {}

    void on_open(net::WebSocketSession& session) override {
        session_ = session.shared_from_this();
        if (api_.stopping_) return close(1001, "the gateway is stopping");
        live_ = std::make_shared<LiveStream>(principal_->id, opening_.request.subscription,
                                             api_.loop_.executor(), api_.loop_.timers());
        api_.tasks_.spawn("event stream", run(shared_from_this()));
    }
    void on_text(net::WebSocketSession&, std::span<char> text) override {
        const auto position = parse_ack({text.data(), text.size()}, api_.parser_);
        if (!position || !live_ || *position > live_->sent)
            return close(1008, "not the acknowledgement of an event of this stream");
        live_->acknowledged = std::max<core::EventPosition>(live_->acknowledged, *position);
        if (opening_.request.remember)
            api_.services_.subscriptions.acknowledge(live_->peer, live_->subscription, *position);
        live_->notifier->wake();
    }
    void on_drained(net::WebSocketSession&) override { drained_.wake(); }
    void on_closed(net::WebSocketSession&, const net::CloseInfo&) override {
        session_.reset();
        drained_.wake();
        if (live_) live_->notifier->wake();
    }

    bool gone() const override { return session_ == nullptr; }

    void send(const core::StoredEvent& event) override {
        if (!session_) return;
        append_delivery(session_->begin_text(), event);
        session_->end_text();
    }
    void keep_alive() override {}  // the session pings
    Task<void> drained() override {
        while (session_ && session_->queued_bytes() > kMostQueued &&
               !(co_await this_chain()).cancelled()) {
            drained_.reset();
            co_await drained_.wait();
        }
    }
    void close(std::uint16_t code, std::string_view reason) override {
        if (session_) session_->close(code, reason);
    }

private:
    /// In a fleet, where the stream begins is known to other nodes.
    Task<bool> begin() {
        if (!api_.services_.look_for_others) co_return true;
        co_await api_.services_.look_for_others();
        auto begun = api_.begin(opening_.request, *principal_, opening_.after);
        if (begun) {
            opening_ = std::move(*begun);
        } else if (session_) {
            session_->close(kNoStream, begun.error().message);
        }
        co_return begun.has_value();
    }
    Task<void> run(std::shared_ptr<Socket> self) {
        if (!co_await begin()) co_return;
        EventPump pump(api_.services_, principal_, opening_.request, live_, opening_.after);
        co_await pump.run(*self);
        if (session_ && (co_await this_chain()).cancelled())
            session_->close(1001, "the gateway is stopping");
    }

    EventsApi& api_;
    const core::PrincipalRef principal_;
    Opening opening_;
    std::shared_ptr<net::WebSocketSession> session_;  // while it is open
    std::shared_ptr<LiveStream> live_;
    Wakeup drained_;
};

/// A stream of server-sent events on the answer to a request.
class EventsApi::SseReceiver final : public EventReceiver {
public:
    explicit SseReceiver(net::HttpExchange& exchange) : exchange_(exchange) {}

    bool gone() const override { return exchange_.caller_gone(); }
    void send(const core::StoredEvent& event) override {
        std::string out;
        if (net::append_sse_event(out, core::name_of(event.event.type),
                                  std::to_string(event.position), event.event.envelope))
            exchange_.write_chunk(out);
    }
    void keep_alive() override {
        std::string out;
        net::append_sse_ping(out);
        exchange_.write_chunk(out);
    }
    Task<void> drained() override { return exchange_.drained(); }
    void close(std::uint16_t code, std::string_view reason) override {
        std::string data, out;
        json::Writer(data)
            .begin_object()
            .key("code")
            .integer(code)
            .key("reason")
            .string(reason)
            .end_object();
        if (net::append_sse_event(out, "stream.closed", {}, data)) exchange_.write_chunk(out);
    }

private:
    net::HttpExchange& exchange_;
};

void EventsApi::stop(std::function<void()> done) {
    stopping_ = true;
    tasks_.stop(std::move(done));
}

std::expected<EventRequest, EventsApi::Refusal> EventsApi::check(const net::HttpRequest& asked,
                                                                 const core::Principal& principal) {
    auto request = parse_event_query(asked.query());
    if (!request) return std::unexpected(Refusal{400, "INVALID_ARGS", request.error().message});
    request->lease = named_lease(asked);
    if (const auto certificate = certificate_of(asked))
        request->good_until = certificate->not_after();
    const trust::ActionScope scope{.tenant = request->filter.tenant,
                                   .agent_id = request->filter.agent_id,
                                   .session_id = request->filter.session_id};
    bool any = false;
    for (const core::EventType type : core::all_event_types())
        any = any || (request->filter.types.has(type) &&
                      EventPump::may_see(services_.access, principal, type, scope, request->lease));
    if (!any)
        return std::unexpected(Refusal{
            403, "FORBIDDEN", fmt::format("{} may see none of these events", principal.id)});
    return std::move(*request);
}

/// Where the stream begins: after `newest`, if nothing else is asked for or known.
std::expected<EventsApi::Opening, EventsApi::Refusal> EventsApi::begin(
    EventRequest request, const core::Principal& principal, core::EventPosition newest) {
    const core::EventPosition first = services_.outbox.first(), last = services_.outbox.last();
    const auto known =
        request.remember ? services_.subscriptions.acknowledged(principal.id, request.subscription)
                         : std::nullopt;
    const core::EventPosition after =
        request.earliest ? first - 1 : request.cursor.value_or(known.value_or(newest));
    if (after < first - 1 || after > last)
        return std::unexpected(Refusal{
            410, "CURSOR_GONE",
            "the events after this cursor were already removed; start over with cursor=earliest"});
    if (request.remember) {
        if (auto begun = services_.subscriptions.begin(principal.id, request.subscription,
                                                       request.types, after);
            !begun)
            return std::unexpected(Refusal{429, "RATE_LIMITED", begun.error().message});
    }
    return Opening{.request = std::move(request), .after = after};
}

std::expected<EventsApi::Opening, EventsApi::Refusal> EventsApi::open(
    const net::HttpRequest& asked, const core::Principal& principal) {
    auto request = check(asked, principal);
    if (!request) return std::unexpected(std::move(request.error()));
    return begin(std::move(*request), principal, services_.outbox.last());
}

/// An upgrade is answered at once; in a fleet the socket finds out where its stream begins, if that
/// is not here and now.
std::expected<EventsApi::Opening, EventsApi::Refusal> EventsApi::open_socket(
    const net::HttpRequest& asked, const core::Principal& principal) {
    if (!services_.look_for_others) return open(asked, principal);
    auto request = check(asked, principal);
    if (!request) return std::unexpected(std::move(request.error()));
    return Opening{.request = std::move(*request), .after = services_.outbox.last()};
}

net::Upgrade EventsApi::upgrade(const net::HttpRequest& request, core::PrincipalRef principal) {
    auto opening = open_socket(request, *principal);
    if (!opening) {
        net::Refusal refusal{.status = opening.error().status, .body = {}, .headers = {}};
        json::Writer(refusal.body)
            .begin_object()
            .key("error")
            .string(opening.error().message)
            .key("code")
            .string(opening.error().code)
            .end_object();
        return refusal;
    }
    return net::AcceptUpgrade{
        .handler = std::make_shared<Socket>(*this, std::move(principal), std::move(*opening)),
        .options = {.max_message_bytes = 4096}};
}

void EventsApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    using Request = net::Routes<core::PrincipalRef>::Request;
    const net::RequestBodyLimits limits{.max_bytes = kMaxBodyBytes};
    routes.add_websocket(
        {.path = "/v1/events",
         .summary = "A stream of events, over a WebSocket or as server-sent events",
         .body = limits,
         .errors = append_route_error,
         .query = {{"types", "a list with commas, or *"},
                   {"tenant_id", "only of this tenant"},
                   {"agent_id", "only of this agent"},
                   {"session_id", "only of this session"},
                   {"subscription", "its name; what it acknowledged is remembered"},
                   {"cursor", "after which event; earliest: from the first that is kept"},
                   {"lease", "the lease that allows it"}},
         .headers = {{"Accept", "text/event-stream, where no WebSocket is wanted"},
                     {"Crab-Lease", "the lease that allows it"}},
         .answers = {{200, "event_stream", "text/event-stream"}},
         .refusals = {400, 403, 410, 429}},
        [this](const Request& request) { return stream(request.exchange, request.principal); },
        [this](const net::HttpRequest& request, const net::WebSocketOffer&,
               const core::PrincipalRef& principal) { return upgrade(request, principal); });
    routes.add(
        {.method = net::Method::kPost,
         .path = "/v1/events",
         .unrecorded = "the event log has what is published",
         .summary = "Publish an event",
         .body = limits,
         .errors = append_route_error,
         .headers = {{"Crab-Lease", "the lease that allows it"}},
         .request = "event_envelope",
         .answers = {{202, "event_receipt"}},
         .refusals = {400, 403, 409, 429, 503, 504}},
        [this](const Request& request) { return publish(request.exchange, request.principal); });
    routes.add({.method = net::Method::kPost,
                .path = "/v1/events/ack",
                .unrecorded = "moves the reader's own place",
                .summary = "Acknowledge what a subscription has seen",
                .errors = append_route_error,
                .request = "event_acknowledgement",
                .answers = {{200, "event_acknowledged"}},
                .refusals = {400, 404}},
               [this](const Request& request) {
                   return acknowledge(request.exchange, request.principal);
               });
}

Task<void> EventsApi::stream(net::HttpExchange& exchange, core::PrincipalRef principal) {
    if (!exchange.request().find("accept").value_or("").contains("text/event-stream")) {
        exchange.respond_error(426, "INVALID_ARGS",
                               "events come over a WebSocket, or with Accept: text/event-stream",
                               {{"Upgrade", "websocket"}});
        co_return;
    }
    if (services_.look_for_others) co_await services_.look_for_others();
    auto opening = open(exchange.request(), *principal);
    if (!opening) {
        exchange.respond_error(opening.error().status, opening.error().code,
                               opening.error().message);
        co_return;
    }
    exchange.start_stream(200, "text/event-stream", {{"Cache-Control", "no-store"}});
    auto live = std::make_shared<LiveStream>(principal->id, opening->request.subscription,
                                             loop_.executor(), loop_.timers());
    EventPump pump(services_, std::move(principal), std::move(opening->request), live,
                   opening->after);
    SseReceiver receiver(exchange);
    receiver.keep_alive();  // the head leaves at once, so that the subscriber knows that it listens
    co_await pump.run(receiver);
    // A server that stops takes the caller for gone, who still listens; one that is really gone
    // hears nothing.
    if (stopping_ && (co_await this_chain()).cancelled())
        receiver.close(1001, "the gateway is stopping");
    exchange.end_stream();
}

Task<void> EventsApi::acknowledge(net::HttpExchange& exchange, core::PrincipalRef principal) {
    const auto request = parse_ack_request(exchange.request().body, parser_);
    if (!request) {
        exchange.respond_error(400, "INVALID_ARGS", request.error().message);
        co_return;
    }
    const auto knows = [&] {
        return request->cursor <= services_.outbox.last() &&
               services_.subscriptions.acknowledged(principal->id, request->subscription);
    };
    if (services_.look_for_others && !knows()) co_await services_.look_for_others();
    if (request->cursor > services_.outbox.last()) {
        exchange.respond_error(400, "INVALID_ARGS", "/cursor: no event has it yet");
    } else if (!knows()) {
        exchange.respond_error(404, "NOT_FOUND",
                               "there is no such subscription; opening a stream creates it");
    } else {
        services_.subscriptions.acknowledge(principal->id, request->subscription, request->cursor);
        services_.streams.acknowledge(principal->id, request->subscription, request->cursor);
        exchange.respond(200, "application/json", R"({"acknowledged":true})");
    }
}

/// `source` names the publisher: a paired peer itself, or the cron host in it; on the local socket
/// the operator, a cron host, or a listener with what its role may publish.
std::expected<void, EventsApi::Refusal> EventsApi::check_publisher(const PublishedEvent& published,
                                                                   const core::Principal& principal,
                                                                   std::string_view lease) const {
    const core::Event& event = published.event.event;
    const trust::ActionScope scope{
        .tenant = event.tenant, .agent_id = event.agent_id, .session_id = event.session_id};
    const auto may_publish = [&](std::string_view type) {
        return services_.access.decide(principal, fmt::format("events.publish:{}", type), scope,
                                       lease);
    };
    const bool is_own_type = is_paired(principal) ? published.component_type == type_of(principal)
                                                  : published.component_type == "operator";
    const bool is_own_id =
        !is_paired(principal) || published.component_id == component_of(principal);
    const bool as_listener = !is_paired(principal) && published.component_type == "listener" &&
                             core::name_of(event.type).starts_with("channel.message.");
    const bool as_cron =
        published.component_type == "cron" && may_publish("cron.triggered").allowed();
    if (!is_own_id || !(is_own_type || as_cron || as_listener))
        return std::unexpected(
            Refusal{403, "FORBIDDEN",
                    fmt::format("/source names {}/{}, but {} publishes", published.component_type,
                                published.component_id, principal.id)});
    const auto decision = may_publish(core::name_of(event.type));
    if (!decision.allowed())
        return std::unexpected(Refusal{403, "FORBIDDEN",
                                       fmt::format("{} may not publish {} there ({})", principal.id,
                                                   core::name_of(event.type), decision.rule)});
    return {};
}

Task<void> EventsApi::publish(net::HttpExchange& exchange, core::PrincipalRef principal) {
    const net::HttpRequest& request = exchange.request();
    const std::string fingerprint = fingerprint_of(request);
    const std::string_view transport = !is_paired(*principal) ? "unix_socket"
                                       : request.tls          ? "mtls_http"
                                                              : "http";
    auto published = parse_envelope(
        request.body, parser_,
        {.peer_id = component_of(*principal), .fingerprint = fingerprint, .transport = transport});
    if (!published) {
        exchange.respond_error(400, "INVALID_ARGS", published.error().message);
        co_return;
    }
    const std::string lease = named_lease(request);
    if (const auto checked = check_publisher(*published, *principal, lease); !checked) {
        exchange.respond_error(checked.error().status, checked.error().code,
                               checked.error().message);
        co_return;
    }
    core::NewEvent event = std::move(published->event);
    const std::string event_id = event.event.event_id;
    event.publisher = principal->id;
    if (is_paired(*principal) && principal->roles.has(core::Role::kToolHost) &&
        !event.call_id.empty())
        event.step = core::CallStep::kSettles;
    exchange.keep_running_when_caller_leaves();
    const Deadline deadline = services_.clock.steady_now() + kPublishTime;
    const auto receipt = co_await services_.outbox.publish(std::move(event), deadline);
    if (!receipt) {
        exchange.respond_error(status_of(receipt.error().code), wire_code(receipt.error().code),
                               receipt.error().message, {{"Retry-After", "1"}});
        co_return;
    }
    if (receipt->status == core::EventStatus::kConflict) {
        exchange.respond_error(
            409, "CONFLICT",
            "this event id or idempotency key was used for another event; use a new one");
        co_return;
    }
    const bool duplicate = receipt->status == core::EventStatus::kDuplicate;
    json::Writer writer(exchange.begin_response(202, "application/json"));
    writer.begin_object().key("accepted").boolean(receipt->status != core::EventStatus::kDropped);
    writer.key("event_id").string(duplicate ? receipt->event_id : event_id);
    if (duplicate) writer.key("duplicate").boolean(true);
    writer.end_object();
    exchange.finish_response();
}

}  // namespace crab::rtp
