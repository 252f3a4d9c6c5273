#include "bridge/dbus/bus_link.hpp"

#include "base/log.hpp"
#include "base/task/waiter.hpp"
#include "bridge/dbus/bus_value.hpp"
#include "bridge/dbus/watched_descriptor.hpp"

#include <array>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::bridge {
namespace {

constexpr const char* kDaemon = "org.freedesktop.DBus";
constexpr const char* kDaemonPath = "/org/freedesktop/DBus";
constexpr const char* kNotifications = "org.freedesktop.Notifications";
constexpr const char* kInterface = "com.clawseed.Cetp.Provider1";
constexpr std::uint64_t kNoTimeout = UINT64_MAX;  // deadlines are kept here

struct Unref {
    void operator()(sd_bus_message* message) const { sd_bus_message_unref(message); }
    void operator()(sd_bus_slot* slot) const { sd_bus_slot_unref(slot); }
};
using Message = std::unique_ptr<sd_bus_message, Unref>;
using Slot = std::unique_ptr<sd_bus_slot, Unref>;

std::string text_or_empty(const char* text) { return text != nullptr ? text : ""; }

/// What an error from the bus or from a service means for whoever asked `service`.
Error error_of(const std::string& service, std::string_view name) {
    constexpr std::string_view kPrefix = "org.freedesktop.DBus.Error.";
    const std::string_view kind = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
    if (kind.empty() || kind == "ServiceUnknown" || kind == "NameHasNoOwner" || kind == "NoReply" ||
        kind.starts_with("Spawn.")) {
        return {.code = ErrorCode::kUnavailable,
                .message = fmt::format("{} is not there", service)};
    }
    if (kind == "AccessDenied" || kind == "AuthFailed" ||
        kind == "InteractiveAuthorizationRequired") {
        return {.code = ErrorCode::kForbidden, .message = fmt::format("{} refuses", service)};
    }
    if (kind == "Timeout" || kind == "TimedOut")
        return {.code = ErrorCode::kTimeout, .message = fmt::format("{} does not answer", service)};
    return {.code = ErrorCode::kToolFailed,
            .message = fmt::format("{} failed with {}", service, name)};
}

}  // namespace

bool BusReply::good() const {
    return message != nullptr && sd_bus_message_is_method_error(message.get(), nullptr) == 0;
}
std::string BusReply::error() const {
    const sd_bus_error* error =
        message != nullptr ? sd_bus_message_get_error(message.get()) : nullptr;
    return error != nullptr ? text_or_empty(error->name) : "";
}
std::string BusReply::sender() const {
    return message != nullptr ? text_or_empty(sd_bus_message_get_sender(message.get())) : "";
}

/// One connection, until it breaks.
class BusLink::Connection {
public:
    Connection(net::EventLoop& loop, sd_bus* bus, const Events& events)
        : loop_(loop),
          bus_(bus),
          events_(events),
          socket_(loop, Descriptor(::fcntl(sd_bus_get_fd(bus), F_DUPFD_CLOEXEC, 3)), EPOLLIN) {
        match(kDaemon, kDaemonPath, kDaemon, "ActivatableServicesChanged",
              &Connection::on_services);
        match(kDaemon, kDaemonPath, kDaemon, "NameOwnerChanged", &Connection::on_owner);
        match(nullptr, nullptr, kInterface, "ToolsChanged", &Connection::on_tools_changed);
        if (events_.on_click)
            match(kNotifications, nullptr, kNotifications, "ActionInvoked", &Connection::on_click);
        pump();
    }
    ~Connection() {
        matches_.clear();
        sd_bus_close(bus_);
        sd_bus_unref(bus_);
    }

    bool broken() const { return broken_; }
    sd_bus* bus() const { return bus_; }

    /// Until the bus is gone or the chain is cancelled.
    Task<void> serve() {
        TaskChain& chain = co_await this_chain();
        while (!broken_ && !chain.cancelled()) {
            std::uint64_t until = kNoTimeout;
            (void)sd_bus_get_timeout(bus_, &until);
            const Deadline deadline =
                until == kNoTimeout ? kNoDeadline : SteadyTime(std::chrono::microseconds(until));
            co_await socket_.ready(deadline);
            pump();
        }
    }

    /// Does what the bus has to do now. Answers wake their coroutines from inside, and those may
    /// send more.
    void pump() {
        int done = 0;
        while ((done = sd_bus_process(bus_, nullptr)) > 0) {}
        if (done < 0 && done != -EBUSY) {  // busy: an outer pump goes on
            broken_ = true;
            socket_.wake();
        }
        // writability matters only while output is queued
        const int wanted = sd_bus_get_events(bus_);
        socket_.set_events(EPOLLIN | (wanted > 0 && (wanted & POLLOUT) != 0 ? EPOLLOUT : 0U));
    }

    Task<BusReply> send(Message message, Deadline deadline) {
        Waiting waiting(loop_.timers());
        sd_bus_slot* slot = nullptr;
        if (broken_ || sd_bus_call_async(bus_, &slot, message.get(), &Connection::on_reply,
                                         &waiting, kNoTimeout) < 0)
            co_return BusReply();
        const Slot held(slot);
        pump();
        if (waiting.reply == nullptr) {
            const WaitEnd end = co_await waiting.waiter.wait(deadline);
            if (end == WaitEnd::kExpired) co_return BusReply{.timed_out = true};
        }
        co_return BusReply{.message = {waiting.reply.release(), Unref()}};
    }

private:
    struct Waiting {
        explicit Waiting(TimerWheel& timers) : waiter(timers) {}
        Waiter waiter;
        Message reply;
    };
    static int on_reply(sd_bus_message* message, void* waiting, sd_bus_error*) {
        auto& asked = *static_cast<Waiting*>(waiting);
        asked.reply.reset(sd_bus_message_ref(message));
        asked.waiter.wake();  // `asked` may be gone afterwards
        return 0;
    }

    void match(const char* sender, const char* path, const char* interface, const char* member,
               sd_bus_message_handler_t handler) {
        sd_bus_slot* slot = nullptr;
        if (sd_bus_match_signal_async(bus_, &slot, sender, path, interface, member, handler,
                                      nullptr, this) >= 0)
            matches_.emplace_back(slot);
    }
    static int on_services(sd_bus_message*, void* self, sd_bus_error*) {
        const Events& events = static_cast<Connection*>(self)->events_;
        if (events.on_services) events.on_services();
        return 0;
    }
    static int on_owner(sd_bus_message* message, void* self, sd_bus_error*) {
        const Events& events = static_cast<Connection*>(self)->events_;
        const char *name = nullptr, *before = nullptr, *now = nullptr;
        if (sd_bus_message_read(message, "sss", &name, &before, &now) >= 0 && events.on_owner)
            events.on_owner(name, now);
        return 0;
    }
    static int on_tools_changed(sd_bus_message* message, void* self, sd_bus_error*) {
        const Events& events = static_cast<Connection*>(self)->events_;
        if (events.on_tools_changed)
            events.on_tools_changed(text_or_empty(sd_bus_message_get_sender(message)));
        return 0;
    }

    static int on_click(sd_bus_message* message, void* self, sd_bus_error*) {
        std::uint32_t notification = 0;
        if (sd_bus_message_read(message, "u", &notification) >= 0)
            static_cast<Connection*>(self)->events_.on_click(notification);
        return 0;
    }

    net::EventLoop& loop_;
    sd_bus* bus_;
    const Events& events_;
    WatchedDescriptor socket_;
    std::vector<Slot> matches_;
    bool broken_ = false;
};

BusLink::BusLink(net::EventLoop& loop, BusKind kind, Events events)
    : loop_(loop), kind_(kind), events_(std::move(events)), tasks_(loop.executor()) {}
BusLink::~BusLink() = default;

void BusLink::start() { tasks_.spawn("message bus", keep_connected()); }
void BusLink::stop(std::function<void()> done) {
    tasks_.stop([this, done = std::move(done)] {
        connection_.reset();
        done();
    });
}
bool BusLink::connected() const { return connection_ != nullptr && !connection_->broken(); }

Task<void> BusLink::keep_connected() {
    TaskChain& chain = co_await this_chain();
    while (!chain.cancelled()) {
        sd_bus* bus = nullptr;
        const int opened =
            kind_ == BusKind::kSession ? sd_bus_open_user(&bus) : sd_bus_open_system(&bus);
        if (opened >= 0) {
            const auto connection = std::make_shared<Connection>(loop_, bus, events_);
            connection_ = connection;
            if (events_.on_connection) events_.on_connection();
            co_await connection->serve();
            if (chain.cancelled()) break;
            connection_.reset();
            log::warn("the message bus has disconnected");
            if (events_.on_connection) events_.on_connection();
        }
        Waiter pause(loop_.timers());
        co_await pause.wait(loop_.clock().steady_now() + kRedial);
    }
}

Task<BusReply> BusLink::ask(const BusCall& call, Deadline deadline) {
    const auto connection = connection_;
    sd_bus_message* made = nullptr;
    if (connection == nullptr || sd_bus_message_new_method_call(
                                     connection->bus(), &made, call.name.c_str(), call.path.c_str(),
                                     call.interface.c_str(), call.member.c_str()) < 0) {
        co_return BusReply();
    }
    Message message(made);
    if (!append_values(made, call.signature, call.args)) co_return BusReply();
    co_return co_await connection->send(std::move(message), deadline);
}

Task<Result<json::Value>> BusLink::call(BusCall call, Deadline deadline) {
    if (!connected())
        co_return fail(
            ErrorCode::kUnavailable,
            fmt::format("there is no {} bus", kind_ == BusKind::kSession ? "session" : "system"));
    const BusReply reply = co_await ask(call, deadline);
    if (reply.timed_out)
        co_return fail(ErrorCode::kTimeout, fmt::format("{} does not answer", call.name));
    if (reply.good()) co_return read_values(reply.message.get());
    co_return fail(error_of(call.name, reply.error()));
}

Task<Result<json::Value>> BusLink::properties(std::string name, std::string path,
                                              std::string interface, Deadline deadline) {
    BusCall get{std::move(name),
                std::move(path),
                "org.freedesktop.DBus.Properties",
                "GetAll",
                "s",
                {json::Value(std::move(interface))}};
    auto values = co_await call(std::move(get), deadline);
    if (!values) co_return values;
    if (values->as_array()->empty()) co_return json::Value::object();
    co_return std::move(values->as_array()->front());
}

Task<void> BusLink::start_service(const std::string& name, Deadline deadline) {
    BusCall start{kDaemon, kDaemonPath,
                  kDaemon, "StartServiceByName",
                  "su",    {json::Value(name), json::Value(0)}};
    const BusReply reply = co_await ask(start, deadline);
    if (reply.error() != "org.freedesktop.DBus.Error.ServiceUnknown") co_return;
    const BusCall reload{kDaemon, kDaemonPath, kDaemon, "ReloadConfig"};
    (void)co_await ask(reload, deadline);
}

Task<std::vector<std::string>> BusLink::activatable_names(Deadline deadline) {
    return names("ListActivatableNames", deadline);
}
Task<std::vector<std::string>> BusLink::owned_names(Deadline deadline) {
    return names("ListNames", deadline);
}

Task<std::vector<std::string>> BusLink::names(std::string member, Deadline deadline) {
    BusCall list{kDaemon, kDaemonPath, kDaemon, std::move(member)};
    const auto values = co_await call(std::move(list), deadline);
    std::vector<std::string> found;
    const json::Value* listed = values ? values->resolve("/0") : nullptr;
    if (listed == nullptr || !listed->is_array()) co_return found;
    for (const json::Value& name : *listed->as_array()) found.push_back(*name.as_string());
    co_return found;
}

}  // namespace crab::bridge
