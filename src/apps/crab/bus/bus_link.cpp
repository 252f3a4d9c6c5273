#include "apps/crab/bridge/bus_link.hpp"

#include "apps/crab/bridge/bus_envelope.hpp"
#include "apps/crab/bridge/watched_descriptor.hpp"
#include "base/log.hpp"
#include "base/waiter.hpp"

#include <array>
#include <cstring>

#include <fcntl.h>
#include <sys/epoll.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::app {
namespace {

using cetp::Envelope;

constexpr const char* kDaemon = "org.freedesktop.DBus";
constexpr const char* kDaemonPath = "/org/freedesktop/DBus";
constexpr const char* kInterface = "com.clawseed.Cetp.Provider1";
constexpr std::uint64_t kNoTimeout = UINT64_MAX;  // deadlines are kept here

struct Unref {
    void operator()(sd_bus_message* message) const { sd_bus_message_unref(message); }
    void operator()(sd_bus_slot* slot) const { sd_bus_slot_unref(slot); }
};
using Message = std::unique_ptr<sd_bus_message, Unref>;
using Slot = std::unique_ptr<sd_bus_slot, Unref>;

std::string text_or_empty(const char* text) { return text != nullptr ? text : ""; }

}  // namespace

/// What came back: a message, which may be an error, or nothing when the deadline passed or the bus went away.
struct BusLink::Reply {
    Message message{};
    bool timed_out = false;
    bool good() const { return message != nullptr && sd_bus_message_is_method_error(message.get(), nullptr) == 0; }
    /// The error's name, empty when there is none.
    std::string error() const {
        const sd_bus_error* error = message != nullptr ? sd_bus_message_get_error(message.get()) : nullptr;
        return error != nullptr ? text_or_empty(error->name) : "";
    }
};

/// One life of a connection.
class BusLink::Connection {
public:
    Connection(net::EventLoop& loop, sd_bus* bus, const Events& events)
        : loop_(loop), bus_(bus), events_(events), socket_(loop, Descriptor(::fcntl(sd_bus_get_fd(bus), F_DUPFD_CLOEXEC, 3)), EPOLLIN | EPOLLOUT) {
        match(kDaemon, kDaemonPath, kDaemon, "ActivatableServicesChanged", &Connection::on_services);
        match(kDaemon, kDaemonPath, kDaemon, "NameOwnerChanged", &Connection::on_owner);
        match(nullptr, nullptr, kInterface, "ToolsChanged", &Connection::on_tools_changed);
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
            const Deadline deadline = until == kNoTimeout ? kNoDeadline : SteadyTime(std::chrono::microseconds(until));
            co_await socket_.ready(deadline);
            pump();
        }
    }

    /// Does what the bus has to do now. Answers wake their coroutines from inside, and those may send more.
    void pump() {
        int done = 0;
        while ((done = sd_bus_process(bus_, nullptr)) > 0) {}
        if (done < 0 && done != -EBUSY) {  // busy: an outer pump goes on
            broken_ = true;
            socket_.wake();
        }
    }

    Task<Reply> send(Message message, Deadline deadline) {
        Waiting waiting(loop_.timers());
        sd_bus_slot* slot = nullptr;
        if (broken_ || sd_bus_call_async(bus_, &slot, message.get(), &Connection::on_reply, &waiting, kNoTimeout) < 0) co_return Reply();
        const Slot held(slot);
        pump();
        if (waiting.reply == nullptr) {
            const WaitEnd end = co_await waiting.waiter.wait(deadline);
            if (end == WaitEnd::kExpired) co_return Reply{.timed_out = true};
        }
        co_return Reply{.message = std::move(waiting.reply)};
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

    void match(const char* sender, const char* path, const char* interface, const char* member, sd_bus_message_handler_t handler) {
        sd_bus_slot* slot = nullptr;
        if (sd_bus_match_signal_async(bus_, &slot, sender, path, interface, member, handler, nullptr, this) >= 0) matches_.emplace_back(slot);
    }
    static int on_services(sd_bus_message*, void* self, sd_bus_error*) {
        const Events& events = static_cast<Connection*>(self)->events_;
        if (events.on_services) events.on_services();
        return 0;
    }
    static int on_owner(sd_bus_message* message, void* self, sd_bus_error*) {
        const Events& events = static_cast<Connection*>(self)->events_;
        const char *name = nullptr, *before = nullptr, *now = nullptr;
        if (sd_bus_message_read(message, "sss", &name, &before, &now) >= 0 && events.on_owner) events.on_owner(name, now);
        return 0;
    }
    static int on_tools_changed(sd_bus_message* message, void* self, sd_bus_error*) {
        const Events& events = static_cast<Connection*>(self)->events_;
        if (events.on_tools_changed) events.on_tools_changed(text_or_empty(sd_bus_message_get_sender(message)));
        return 0;
    }

    net::EventLoop& loop_;
    sd_bus* bus_;
    const Events& events_;
    WatchedDescriptor socket_;
    std::vector<Slot> matches_;
    bool broken_ = false;
};

BusLink::BusLink(net::EventLoop& loop, cetp::Bus kind, Events events) : loop_(loop), kind_(kind), events_(std::move(events)), tasks_(loop.executor()) {}
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
        const int opened = kind_ == cetp::Bus::kSession ? sd_bus_open_user(&bus) : sd_bus_open_system(&bus);
        if (opened >= 0) {
            const auto connection = std::make_shared<Connection>(loop_, bus, events_);
            connection_ = connection;
            if (events_.on_connection) events_.on_connection();
            co_await connection->serve();
            if (chain.cancelled()) break;
            connection_.reset();
            log::warn("the message bus is gone");
            if (events_.on_connection) events_.on_connection();
        }
        Waiter pause(loop_.timers());
        co_await pause.wait(loop_.clock().steady_now() + kRedial);
    }
}

Task<BusLink::Answer> BusLink::call(const std::string& name, const std::string& path, const cetp::MethodCall& call, Deadline deadline) {
    const SteadyTime began = loop_.clock().steady_now();
    const auto connection = connection_;
    sd_bus_message* made = nullptr;
    if (connection == nullptr || sd_bus_message_new_method_call(connection->bus(), &made, name.c_str(), path.c_str(), kInterface, "Call") < 0) co_return Answer();
    Message message(made);
    sd_bus_message_append(made, "s", call.method.c_str());
    sd_bus_message_open_container(made, 'a', "{sv}");
    for (const auto& [key, value] : call.extras) sd_bus_message_append(made, "{sv}", key.c_str(), "s", value.c_str());
    sd_bus_message_close_container(made);
    const Reply reply = co_await connection->send(std::move(message), deadline);
    if (reply.timed_out) co_return Answer{.delivery = no_answer_within(deadline - began)};
    if (reply.message == nullptr) co_return Answer();
    if (!reply.good()) co_return Answer{.delivery = bus_error_outcome(reply.error(), deadline - began)};
    co_return Answer{.delivery = read_bus_envelope(reply.message.get()), .owner = text_or_empty(sd_bus_message_get_sender(reply.message.get()))};
}

Task<std::uint32_t> BusLink::version(const std::string& name, const std::string& path, Deadline deadline) {
    const auto connection = connection_;
    sd_bus_message* made = nullptr;
    if (connection == nullptr || sd_bus_message_new_method_call(connection->bus(), &made, name.c_str(), path.c_str(), "org.freedesktop.DBus.Properties", "Get") < 0) co_return 1;
    Message message(made);
    sd_bus_message_append(made, "ss", kInterface, "Version");
    const Reply reply = co_await connection->send(std::move(message), deadline);
    std::uint32_t version = 1;
    if (reply.good()) (void)sd_bus_message_read(reply.message.get(), "v", "u", &version);
    co_return version;
}

Task<void> BusLink::start_service(const std::string& name, Deadline deadline) {
    const auto connection = connection_;
    sd_bus_message* made = nullptr;
    if (connection == nullptr || sd_bus_message_new_method_call(connection->bus(), &made, kDaemon, kDaemonPath, kDaemon, "StartServiceByName") < 0) co_return;
    Message message(made);
    sd_bus_message_append(made, "su", name.c_str(), 0U);
    const Reply reply = co_await connection->send(std::move(message), deadline);
    if (reply.error() != "org.freedesktop.DBus.Error.ServiceUnknown") co_return;
    if (sd_bus_message_new_method_call(connection->bus(), &made, kDaemon, kDaemonPath, kDaemon, "ReloadConfig") < 0) co_return;
    Message reload(made);
    (void)co_await connection->send(std::move(reload), deadline);
}

Task<std::vector<std::string>> BusLink::activatable_names(Deadline deadline) {
    std::vector<std::string> names;
    const auto connection = connection_;
    sd_bus_message* made = nullptr;
    if (connection == nullptr || sd_bus_message_new_method_call(connection->bus(), &made, kDaemon, kDaemonPath, kDaemon, "ListActivatableNames") < 0) co_return names;
    Message message(made);
    const Reply reply = co_await connection->send(std::move(message), deadline);
    if (!reply.good() || sd_bus_message_enter_container(reply.message.get(), 'a', "s") < 0) co_return names;
    const char* name = nullptr;
    while (sd_bus_message_read(reply.message.get(), "s", &name) > 0) names.emplace_back(name);
    co_return names;
}

void BusLink::notify(const std::string& title, const std::string& text) {
    if (!connected()) return;
    (void)sd_bus_call_method_async(connection_->bus(), nullptr, "org.freedesktop.Notifications", "/org/freedesktop/Notifications", "org.freedesktop.Notifications",
                                   "Notify", nullptr, nullptr, "susssasa{sv}i", "crab", 0U, "", title.c_str(), text.c_str(), 0, 0, -1);
    connection_->pump();
}

}  // namespace crab::app
