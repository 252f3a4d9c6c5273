#include "adapters/mcp/server/change_streams.hpp"

#include "adapters/mcp/wire/error_form.hpp"
#include "adapters/mcp/wire/event_stream.hpp"
#include "adapters/mcp/wire/message_writer.hpp"
#include "base/scope_exit.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"
#include "net/codec/sse.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr std::string_view kToolsChanged = "notifications/tools/list_changed";
constexpr Milliseconds kBetweenChanges{1000};

void write_message(net::HttpExchange& exchange, std::string_view message) {
    std::string event;
    static_cast<void>(append_message_event(event, {}, message));  // without an id all is well
    exchange.write_chunk(event);
}

bool wants(std::string_view notifications, std::string_view name) {
    return json::find_raw(notifications, name) == "true";
}

std::string subscription_meta(const RequestId& id) {
    return fmt::format(R"({{"{}":{}}})", kSubscriptionKey, id.json());
}

/// The first message: of what was asked for what will be told. There are no resources and no tasks
/// to watch.
std::string acknowledgement(const ClientRequest& request, std::string_view notifications) {
    std::string params;
    json::Writer writer(params);
    writer.begin_object().key("_meta").raw(subscription_meta(request.id));
    writer.key("notifications").begin_object();
    for (const std::string_view name :
         {"toolsListChanged", "promptsListChanged", "resourcesListChanged"}) {
        if (wants(notifications, name)) writer.key(name).boolean(true);
    }
    writer.end_object().end_object();
    std::string message;
    append_notification(message, "notifications/subscriptions/acknowledged", params);
    return message;
}

std::string listen_result(const ClientRequest& request) {
    const std::string meta = subscription_meta(request.id);
    std::string result, message;
    append_plain_result(result, "{}", request.form(meta));
    append_result(message, request.id, result);
    return message;
}

}  // namespace

class ChangeStreams::Watch {
public:
    Watch(ToolLists& lists, core::PrincipalRef principal, Revision revision)
        : lists_(lists),
          principal_(std::move(principal)),
          revision_(revision),
          seen_(lists.version()),
          digest_(lists.digest(*lists.view_of(principal_), revision)) {}

    /// Whether to tell now that it has changed.
    bool take_change(SteadyTime now) {
        if (lists_.version() == seen_ || now < next_) return false;
        seen_ = lists_.version();
        const std::string& digest = lists_.digest(*lists_.view_of(principal_), revision_);
        if (digest == digest_) return false;
        digest_ = digest;
        next_ = now + kBetweenChanges;
        return true;
    }
    /// When to look again by itself.
    Deadline due() const { return lists_.version() == seen_ ? kNoDeadline : next_; }

private:
    ToolLists& lists_;
    const core::PrincipalRef principal_;
    const Revision revision_;
    std::uint64_t seen_;
    std::string digest_;
    SteadyTime next_{};
};

class ChangeStreams::Place {
public:
    explicit Place(ChangeStreams& all)
        : all_(all),
          waiter_(std::make_shared<RemoteWaiter>(all.loop_.executor(), all.loop_.timers())) {
        all_.places_.push_back(waiter_);
        all_.watch_soon();
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { std::erase(all_.places_, waiter_); }
    const std::shared_ptr<RemoteWaiter>& waiter() const { return waiter_; }

private:
    ChangeStreams& all_;
    const std::shared_ptr<RemoteWaiter> waiter_;
};

void ChangeStreams::watch_soon() {
    if (armed()) return;
    seen_ = lists_.version();
    loop_.timers().arm(*this, loop_.now() + kLook);
}

void ChangeStreams::on_expired() {
    if (places_.empty()) return;
    if (std::exchange(seen_, lists_.version()) != lists_.version())
        for (const auto& waiter : places_) waiter->wake();
    loop_.timers().arm(*this, loop_.now() + kLook);
}

void ChangeStreams::stop() {
    stopping_ = true;
    for (const auto& waiter : places_) waiter->wake();
}

void ChangeStreams::write_ping(net::HttpExchange& exchange) {
    std::string comment;
    net::append_sse_ping(comment);
    exchange.write_chunk(comment);
}

Task<void> ChangeStreams::serve_session(net::HttpExchange& exchange,
                                        std::shared_ptr<Session> session,
                                        core::PrincipalRef principal) {
    std::shared_ptr<SessionStream> stream(session, &session->events());
    Reading reading{std::move(session), std::move(stream), 0};
    reading.after = reading.stream->last();
    return read(exchange, std::move(reading), std::move(principal));
}

Task<void> ChangeStreams::resume(net::HttpExchange& exchange, std::shared_ptr<Session> session,
                                 core::PrincipalRef principal, EventId seen) {
    std::shared_ptr<SessionStream> stream =
        seen.stream == 0 ? std::shared_ptr<SessionStream>(session, &session->events())
                         : session->find_stream(seen.stream);
    if (!stream || !stream->can_resume(seen.number)) {
        std::string body;
        append_error(body, nullptr, Era::kLegacy,
                     {.code = rpc_code::kInvalidRequest,
                      .message = "Last-Event-ID: not kept, or never sent in this session",
                      .data = {}});
        exchange.respond(400, kJsonType, body);
        co_return;
    }
    Reading reading{std::move(session), std::move(stream), seen.number};
    co_await read(exchange, std::move(reading), std::move(principal));
}

Task<void> ChangeStreams::read(net::HttpExchange& exchange, Reading reading,
                               core::PrincipalRef principal) {
    const Session::Use use(reading.session);
    const Place place(*this);
    SessionStream& stream = *reading.stream;
    const SessionStream::ReaderId reader = stream.attach(place.waiter());
    const ScopeExit gone([&] { stream.detach(reader); });
    std::optional<Watch> watch;
    if (stream.number() == 0)
        watch.emplace(lists_, std::move(principal), reading.session->facts().revision);
    start_events(exchange);
    Deadline ping = loop_.now() + state_.options.keepalive;
    while (true) {
        SessionStream::Taken taken = stream.take(reader, reading.after);
        if (taken.replaced) break;
        reading.after = taken.last;
        if (!taken.bytes.empty()) {
            exchange.write_chunk(taken.bytes);
            ping = loop_.now() + state_.options.keepalive;
        }
        if (taken.ended || stopping_) break;
        if (watch && watch->take_change(loop_.now())) {
            std::string message;
            append_notification(message, kToolsChanged, {});
            stream.add_if_read(message);
            continue;
        }
        const Deadline until = watch ? std::min(ping, watch->due()) : ping;
        if (co_await place.waiter()->wait(until) == WaitEnd::kCancelled) co_return;
        if (loop_.now() < ping) continue;
        write_ping(exchange);
        ping = loop_.now() + state_.options.keepalive;
    }
    exchange.end_stream();
}

Task<void> ChangeStreams::listen(net::HttpExchange& exchange, const ClientRequest& request) {
    const std::string_view notifications =
        json::find_raw(request.params, "notifications").value_or(std::string_view());
    std::optional<Reply> refused;
    if (!notifications.starts_with('{'))
        refused = Reply::invalid_params(request, "notifications: an object");
    const auto held = refused ? nullptr : state_.listens.take(request.principal->id);
    if (!refused && !held)
        refused =
            Reply::of_error(request, rpc_error(Error{.code = ErrorCode::kRateLimited,
                                                     .message = "too many listen streams are open: "
                                                                "close one of them first"},
                                               rpc_code::kInternalError));
    if (refused) co_return exchange.respond(refused->status, kJsonType, refused->message);
    const Place place(*this);
    std::optional<Watch> watch;
    if (wants(notifications, "toolsListChanged"))
        watch.emplace(lists_, request.principal, request.revision);
    start_events(exchange);
    write_message(exchange, acknowledgement(request, notifications));
    Deadline ping = loop_.now() + state_.options.keepalive;
    while (!stopping_) {
        const bool changed = watch && watch->take_change(loop_.now());
        if (changed) {
            std::string message;
            append_notification(message, kToolsChanged,
                                fmt::format(R"({{"_meta":{}}})", subscription_meta(request.id)));
            write_message(exchange, message);
        }
        if (!changed && loop_.now() >= ping) write_ping(exchange);
        if (changed || loop_.now() >= ping) ping = loop_.now() + state_.options.keepalive;
        const Deadline until = watch ? std::min(ping, watch->due()) : ping;
        if (co_await place.waiter()->wait(until) == WaitEnd::kCancelled) co_return;
    }
    write_message(exchange, listen_result(request));
    exchange.end_stream();
}

}  // namespace crab::mcp
