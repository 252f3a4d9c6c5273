#pragma once

#include "base/result.hpp"
#include "base/task/task_group.hpp"
#include "json/value.hpp"
#include "net/loop/event_loop.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct sd_bus_message;

namespace crab::bridge {

enum class BusKind : std::uint8_t { kSession, kSystem };

/// A call of a method on a bus.
struct BusCall {
    std::string name{}, path{}, interface{}, member{};
    std::string signature{};     ///< of `args`
    json::Value::Items args{};  ///< see append_values()
};

/// The reply: a message, which may be an error, or nothing when the deadline passed or there is no
/// bus.
struct BusReply {
    std::shared_ptr<sd_bus_message> message{};
    bool timed_out = false;

    bool good() const;
    std::string error() const;   ///< the error's name; empty when there is none
    std::string sender() const;  ///< the unique name of the responder
};

/// A connection to a message bus that reconnects automatically. Used on its loop's thread. Hides
/// sd-bus. Source: docs/protocols/cetp.md, section 2.
class BusLink {
public:
    static constexpr Milliseconds kRedial{1'000};

    /// Signals of the bus; each may be empty.
    struct Events {
        std::function<void()> on_connection{};  ///< connected or disconnected
        std::function<void()> on_services{};  ///< names that can be activated have changed
        /// Unique name of the provider
        std::function<void(const std::string& owner)> on_tools_changed{};
        /// Empty owner: the name was released
        std::function<void(const std::string& name, const std::string& owner)> on_owner{};
        /// `ActionInvoked` of the desktop's notifications
        std::function<void(std::uint32_t notification)> on_click{};
    };
    BusLink(net::EventLoop& loop, BusKind kind, Events events);
    BusLink(const BusLink&) = delete;
    BusLink& operator=(const BusLink&) = delete;
    ~BusLink();

    /// Connects, and reconnects until stop().
    void start();
    void stop(std::function<void()> done);
    bool connected() const;

    Task<BusReply> ask(const BusCall& call, Deadline deadline);
    /// The values of the answer, as an array. Errors: kUnavailable when nobody has that name,
    /// kTimeout, kForbidden, kToolFailed.
    Task<Result<json::Value>> call(BusCall call, Deadline deadline);
    /// All properties of an interface, as an object. Errors: those of call().
    Task<Result<json::Value>> properties(std::string name, std::string path, std::string interface,
                                         Deadline deadline);
    /// `StartServiceByName`, and `ReloadConfig` when the bus knows no such service.
    Task<void> start_service(const std::string& name, Deadline deadline);
    /// `ListActivatableNames`; empty when it fails.
    Task<std::vector<std::string>> activatable_names(Deadline deadline);
    /// `ListNames`: the names that have an owner; empty when it fails.
    Task<std::vector<std::string>> owned_names(Deadline deadline);

private:
    class Connection;
    Task<std::vector<std::string>> names(std::string member, Deadline deadline);
    Task<void> keep_connected();

    net::EventLoop& loop_;
    const BusKind kind_;
    const Events events_;
    std::shared_ptr<Connection> connection_;  // while there is one
    TaskGroup tasks_;
};

}  // namespace crab::bridge
