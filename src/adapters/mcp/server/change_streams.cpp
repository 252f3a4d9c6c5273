#include "adapters/mcp/server/change_streams.hpp"

#include "adapters/mcp/wire/error_form.hpp"
#include "adapters/mcp/wire/event_stream.hpp"
#include "adapters/mcp/wire/message_writer.hpp"
#include "base/scope_exit.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/sse.hpp"
#include "net/tls/connection.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

using What = ListWatch::What;
constexpr What kAllLists[] = {What::kTools, What::kPrompts, What::kResources};

void write_message(net::HttpExchange& exchange, std::string_view message) {
    std::string event;
    static_cast<void>(append_message_event(event, {}, message));  // without an id all is well
    exchange.write_chunk(event);
}

/// The client has not read what was written before.
bool has_unread(const net::HttpExchange& exchange) {
    constexpr std::size_t kMost = std::size_t{64} << 10;
    const net::Connection* const connection = exchange.request().connection;
    return connection != nullptr && connection->queued_bytes() >= kMost;
}

bool wants(std::string_view notifications, What what) {
    return json::find_raw(notifications, ListWatch::filter_name(what)) == "true";
}

std::string subscription_meta(const RequestId& id) {
    return fmt::format(R"({{"{}":{}}})", kSubscriptionKey, id.json());
}

std::string listen_result(const ClientRequest& request) {
    const std::string meta = subscription_meta(request.id);
    std::string result, message;
    append_plain_result(result, "{}", request.form(meta));
    append_result(message, request.id, result);
    return message;
}

/// URIs of watched resources that have changed, as their client knows them, and the last state of
/// watched tasks. Any number of threads.
class Updates {
public:
    struct Taken {
        std::set<std::string> uris;
        std::map<std::string, TaskState> tasks;
    };
    void add(const std::string& uri) {
        const std::scoped_lock lock(mutex_);
        new_.uris.insert(uri);
    }
    void add(const TaskState& task) {
        const std::scoped_lock lock(mutex_);
        const auto [known, is_new] = new_.tasks.emplace(task.id, task);
        if (!is_new && !has_ended(known->second.status)) known->second = task;
    }
    Taken take() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(new_, {});
    }

private:
    std::mutex mutex_;
    Taken new_;
};

/// `object` with a last member `_meta`.
std::string with_meta(std::string object, std::string_view meta) {
    object.pop_back();
    return fmt::format(R"({},"_meta":{}}})", object, meta);
}

}  // namespace

struct ChangeStreams::ChangeNotice {
    std::atomic<bool> pending = false;
    ChangeStreams* streams = nullptr;  // on the loop; null once they are gone
};

/// What one listen stream tells of. Lives in the frame of listen().
struct ChangeStreams::Listening {
    const ClientRequest& request;
    const std::shared_ptr<RemoteWaiter>& waiter;
    std::vector<ListWatch> lists{};
    std::vector<std::string> uris{};
    std::vector<Session::Watched> resources{};
    std::vector<std::string> task_ids{};
    std::vector<TaskTable::Watch> tasks{};
    std::shared_ptr<Updates> updates = std::make_shared<Updates>();

    /// The first message: of what was asked for what will be told.
    std::string acknowledgement(std::string_view notifications) const {
        std::string params;
        json::Writer writer(params);
        writer.begin_object().key("_meta").raw(subscription_meta(request.id));
        writer.key("notifications").begin_object();
        for (const What what : kAllLists)
            if (wants(notifications, what)) writer.key(ListWatch::filter_name(what)).boolean(true);
        const auto write_all = [&](std::string_view name, const std::vector<std::string>& all) {
            if (all.empty()) return;
            writer.key(name).begin_array();
            for (const std::string& each : all) writer.string(each);
            writer.end_array();
        };
        write_all("resourceSubscriptions", uris);
        write_all("taskIds", task_ids);
        writer.end_object().end_object();
        std::string message;
        append_notification(message, "notifications/subscriptions/acknowledged", params);
        return message;
    }
    /// Whether there was something to tell.
    bool tell(net::HttpExchange& exchange, const TaskTimes& times) {
        bool told = false;
        const std::string meta = subscription_meta(request.id);
        for (ListWatch& list : lists) {
            if (!list.take_change(exchange.loop().now())) continue;
            std::string message;
            append_notification(message, list.method(), fmt::format(R"({{"_meta":{}}})", meta));
            write_message(exchange, message);
            told = true;
        }
        const Updates::Taken fresh = updates->take();
        for (const std::string& uri : fresh.uris) {
            std::string params, message;
            json::Writer(params).begin_object().key("uri").string(uri).key("_meta").raw(meta);
            params += '}';
            append_notification(message, "notifications/resources/updated", params);
            write_message(exchange, message);
            told = true;
        }
        for (const auto& [id, task] : fresh.tasks) {
            std::string message;
            append_notification(message, "notifications/tasks",
                                with_meta(detailed_object(task, times), meta));
            write_message(exchange, message);
            told = true;
        }
        return told;
    }
    Deadline due() const {
        Deadline due = kNoDeadline;
        for (const ListWatch& list : lists) due = std::min(due, list.due());
        return due;
    }
};

class ChangeStreams::StreamRegistration {
public:
    StreamRegistration(ChangeStreams& all, std::string credential)
        : all_(all), follower_(std::make_shared<Follower>()) {
        net::EventLoop& loop = all.uses_.loop;
        follower_->waiter = std::make_shared<RemoteWaiter>(loop.executor(), loop.timers());
        follower_->credential = std::move(credential);
        if (all_.followers_.empty()) {
            const auto tell = [notice = all_.notice_, &loop] {
                if (notice->pending.exchange(true)) return;
                loop.post([notice] {
                    notice->pending = false;
                    if (notice->streams != nullptr) notice->streams->look_soon();
                });
            };
            all_.of_tools_ = all_.uses_.registry.changes().watch(tell);
            all_.of_catalogs_ = all_.uses_.catalogs.changes().watch(tell);
        }
        all_.followers_.push_back(follower_);
    }
    StreamRegistration(const StreamRegistration&) = delete;
    StreamRegistration& operator=(const StreamRegistration&) = delete;
    ~StreamRegistration() {
        std::erase(all_.followers_, follower_);
        if (!all_.followers_.empty()) return;
        const auto gone = std::pair(std::move(all_.of_tools_), std::move(all_.of_catalogs_));
    }
    const std::shared_ptr<RemoteWaiter>& waiter() const { return follower_->waiter; }
    bool over() const { return follower_->over || all_.stopping_; }

private:
    ChangeStreams& all_;
    const std::shared_ptr<Follower> follower_;
};

ChangeStreams::ChangeStreams(const Uses& uses)
    : uses_(uses), notice_(std::make_shared<ChangeNotice>()) {
    notice_->streams = this;
}

ChangeStreams::~ChangeStreams() { notice_->streams = nullptr; }

void ChangeStreams::look_soon() {
    if (armed()) return;
    const SteadyTime now = uses_.loop.now();
    uses_.loop.timers().arm(*this, std::max(now, looked_at_ + kBetweenLooks));
}

void ChangeStreams::on_expired() {
    looked_at_ = uses_.loop.now();
    for (const auto& follower : followers_) follower->waiter->wake();
}

void ChangeStreams::stop() {
    stopping_ = true;
    for (const auto& follower : followers_) follower->waiter->wake();
}

void ChangeStreams::end_credential(std::string_view credential) {
    for (const auto& follower : followers_) {
        if (credential.empty() || follower->credential != credential) continue;
        follower->over = true;
        follower->waiter->wake();
    }
}

void ChangeStreams::write_ping(net::HttpExchange& exchange) {
    std::string comment;
    net::append_sse_ping(comment);
    exchange.write_chunk(comment);
}

Task<void> ChangeStreams::serve_session(net::HttpExchange& exchange,
                                        std::shared_ptr<Session> session,
                                        core::PrincipalRef principal) {
    Reading reading{session, session->shared_events(), 0};
    reading.after = reading.stream->last();
    return read(exchange, std::move(reading), std::move(principal));
}

Task<void> ChangeStreams::resume(net::HttpExchange& exchange, std::shared_ptr<Session> session,
                                 core::PrincipalRef principal, EventId seen) {
    std::shared_ptr<SessionStream> stream =
        seen.stream == 0 ? session->shared_events() : session->find_stream(seen.stream);
    if (!stream || !stream->can_resume(seen.number)) {
        std::string body;
        append_error(
            body, nullptr, Era::kLegacy,
            with_token({.code = rpc_code::kInvalidRequest,
                        .message = "Last-Event-ID: not kept, or never sent in this session",
                        .data = {}}));
        exchange.respond(400, kJsonType, body);
        co_return;
    }
    Reading reading{std::move(session), std::move(stream), seen.number};
    co_await read(exchange, std::move(reading), std::move(principal));
}

Task<void> ChangeStreams::serve_sse(net::HttpExchange& exchange, std::shared_ptr<Session> session,
                                    core::PrincipalRef principal, std::string_view endpoint) {
    Reading reading{session, session->shared_events(), 0};
    static_cast<void>(net::append_sse_event(reading.first, "endpoint", {}, endpoint));
    return read(exchange, std::move(reading), std::move(principal));
}

std::vector<ListWatch> ChangeStreams::lists_for(const Session& session,
                                                const core::PrincipalRef& principal) {
    const ListWatch::Lists all{uses_.tools, uses_.catalog_lists};
    std::vector<ListWatch> lists;
    for (const What what : kAllLists)
        lists.emplace_back(all, what, principal, session.facts().revision);
    return lists;
}

Task<void> ChangeStreams::read(net::HttpExchange& exchange, Reading reading,
                               core::PrincipalRef principal) {
    const Session::Use use(reading.session);
    const StreamRegistration registration(*this, principal->credential_id);
    SessionStream& stream = *reading.stream;
    const SessionStream::ReaderId reader = stream.attach(registration.waiter());
    const ScopeExit gone([&] { stream.detach(reader); });
    std::vector<ListWatch> lists;
    start_events(exchange);
    if (!reading.first.empty()) exchange.write_chunk(reading.first);
    net::EventLoop& loop = uses_.loop;
    Deadline ping = loop.now() + uses_.state.options.keepalive;
    while (true) {
        if (lists.empty() && stream.number() == 0 && reading.session->is_complete())
            lists = lists_for(*reading.session, principal);
        for (ListWatch& list : lists) {
            if (!list.take_change(loop.now())) continue;
            std::string message;
            append_notification(message, list.method(), {});
            stream.add_if_read(message);
        }
        // what is taken is counted no more, so that who does not read gets no more
        const bool is_behind = reading.session->facts().sse && has_unread(exchange);
        SessionStream::Taken taken{.last = reading.after, .ended = is_behind && stream.is_over()};
        if (!is_behind) taken = stream.take(reader, reading.after);
        if (taken.replaced) break;
        reading.after = taken.last;
        if (!taken.bytes.empty()) {
            exchange.write_chunk(taken.bytes);
            ping = loop.now() + uses_.state.options.keepalive;
        }
        if (taken.ended || registration.over()) break;
        if (taken.more) continue;
        Deadline until = is_behind ? loop.now() + kBetweenLooks : ping;
        for (const ListWatch& list : lists) until = std::min(until, list.due());
        if (co_await registration.waiter()->wait(until) == WaitEnd::kCancelled) co_return;
        if (loop.now() < ping) continue;
        write_ping(exchange);
        ping = loop.now() + uses_.state.options.keepalive;
    }
    exchange.end_stream();
}

/// Why there is no stream for this request; else a place for one is `held`.
std::optional<Reply> ChangeStreams::refusal(const ClientRequest& request,
                                            std::string_view notifications,
                                            std::shared_ptr<void>& held) {
    if (!notifications.starts_with('{'))
        return Reply::invalid_params(request, "notifications: an object");
    std::size_t resources = 0;
    const auto uris = json::find_raw(notifications, "resourceSubscriptions").value_or("[]");
    for (json::RawParts parts(uris); parts.next();) ++resources;
    if (!uris.starts_with('[') || resources > kMostResources)
        return Reply::invalid_params(
            request, fmt::format("resourceSubscriptions: at most {} URIs", kMostResources));
    held = uses_.state.listens.take(request.principal->id);
    if (held) return std::nullopt;
    return Reply::of_error(request, rpc_error(Error{.code = ErrorCode::kRateLimited,
                                                    .message = "too many listen streams are open: "
                                                               "close one of them first"},
                                              rpc_code::kInternalError));
}

void ChangeStreams::watch_resources(Listening& listening, std::string_view notifications) {
    const auto uris = json::find_raw(notifications, "resourceSubscriptions").value_or("[]");
    const core::PrincipalRef& principal = listening.request.principal;
    const auto view = uses_.catalog_lists.view_of(principal);
    const auto may_read = uses_.catalog_lists.may_use(*principal, kReadTool);
    MatchBudget budget;  // of all its URIs
    for (json::RawParts parts(uris); parts.next();) {
        const auto uri = json::read_raw_string(parts.value());
        if (!uri || uri->size() > kMostNameBytes ||
            std::ranges::find(listening.uris, *uri) != listening.uris.end())
            continue;
        const auto target = view->find_resource(*uri, {}, budget);
        if (!target || !target->exists(budget) || !target->source->watchable ||
            !may_read(*target->source, target->key))
            continue;
        HeldBytes bytes(uses_.state.watched.of(principal->id));
        if (!bytes.grow_to(bytes_of_watch(*uri))) break;  // the acknowledgement says what is told
        const auto updated = [updates = listening.updates, waiter = listening.waiter, uri = *uri] {
            updates->add(uri);
            waiter->wake();
        };
        auto handle =
            uses_.watches.watch(target->source->source, target->key, principal->id, updated);
        if (!handle) continue;
        listening.resources.push_back({std::move(bytes), std::move(*handle)});
        listening.uris.push_back(*uri);
    }
}

/// Those that have news already are told at once: nothing else will come of one that has ended.
void ChangeStreams::watch_tasks(Listening& listening, const std::vector<TaskState>& tasks) {
    for (const TaskState& task : tasks) {
        const auto changed = [updates = listening.updates,
                              waiter = listening.waiter](const TaskState& state) {
            updates->add(state);
            waiter->wake();
        };
        listening.tasks.push_back(uses_.state.tasks.watch(task.id, changed));
        listening.task_ids.push_back(task.id);
        if (task.status != TaskStatus::kWorking) listening.updates->add(task);
    }
}

Task<void> ChangeStreams::listen(net::HttpExchange& exchange, const ClientRequest& request,
                                 std::vector<TaskState> tasks) {
    const std::string_view notifications =
        json::find_raw(request.params, "notifications").value_or(std::string_view());
    std::shared_ptr<void> held;
    if (const auto refused = refusal(request, notifications, held))
        co_return exchange.respond(refused->status, kJsonType, refused->message);
    const StreamRegistration registration(*this, request.principal->credential_id);
    Listening listening{.request = request, .waiter = registration.waiter()};
    const ListWatch::Lists all{uses_.tools, uses_.catalog_lists};
    for (const What what : kAllLists) {
        if (wants(notifications, what))
            listening.lists.emplace_back(all, what, request.principal, request.revision);
    }
    watch_resources(listening, notifications);
    watch_tasks(listening, tasks);
    start_events(exchange);
    write_message(exchange, listening.acknowledgement(notifications));
    co_await tell(exchange, listening, registration);
}

Task<void> ChangeStreams::tell(net::HttpExchange& exchange, Listening& listening,
                               const StreamRegistration& registration) {
    net::EventLoop& loop = uses_.loop;
    Deadline ping = loop.now() + uses_.state.options.keepalive;
    while (!registration.over()) {
        const bool told = listening.tell(exchange, uses_.state.tasks.times());
        if (!told && loop.now() >= ping) write_ping(exchange);
        if (told || loop.now() >= ping) ping = loop.now() + uses_.state.options.keepalive;
        const Deadline until = std::min(ping, listening.due());
        if (co_await registration.waiter()->wait(until) == WaitEnd::kCancelled) co_return;
    }
    write_message(exchange, listen_result(listening.request));
    exchange.end_stream();
}

}  // namespace crab::mcp
