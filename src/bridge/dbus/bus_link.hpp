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

/// What came back: a message, which may be an error, or nothing when the deadline passed or there
/// is no bus.
struct BusReply {
    std::shared_ptr<sd_bus_message> message{};
    bool timed_out = false;

    bool good() const;
    std::string error() const;   ///< the error's name; empty when there is none
    std::string sender() const;  ///< the unique name of who answered
};

/// A connection to a message bus, made again when it breaks. Used on its loop's thread. sd-bus
/// stays inside. Source: docs/protocols/cetp.md, section 2.
class BusLink {
public:
    static constexpr Milliseconds kRedial{1'000};

    /// What a bus tells by itself; each may be empty.
    struct Events {
        std::function<void()> on_connection{};                              ///< it came or went
        std::function<void()> on_services{};  ///< names that can be activated have changed
        /// Unique name of the provider
        std::function<void(const std::string& owner)> on_tools_changed{};
        /// Empty owner: nobody any more
        std::function<void(const std::string& name, const std::string& owner)> on_owner{};
        /// `ActionInvoked` of the desktop's notifications
        std::function<void(std::uint32_t notification)> on_click{};
    };
    BusLink(net::EventLoop& loop, BusKind kind, Events events);
    BusLink(const BusLink&) = delete;
    BusLink& operator=(const BusLink&) = delete;
    ~BusLink();

    /// Connects now if it can, and stays connected until stop().
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
    /// `ListNames`: those that somebody has now; empty when it fails.
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
