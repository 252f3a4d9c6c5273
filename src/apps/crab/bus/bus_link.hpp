#pragma once

#include "adapters/cetp/provider_record.hpp"
#include "apps/crab/bridge/provider_transport.hpp"
#include "base/task_group.hpp"
#include "net/event_loop.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace crab::app {

/// A connection to a message bus, made again when it breaks. Used on its loop's thread. sd-bus stays inside.
/// Source: docs/protocols/cetp.md, section 2.
class BusLink {
public:
    static constexpr Milliseconds kRedial{1'000};

    /// What a bus tells by itself; each may be empty.
    struct Events {
        std::function<void()> on_connection{};                              ///< it came or went
        std::function<void()> on_services{};                                ///< names that can be activated have changed
        std::function<void(const std::string& owner)> on_tools_changed{};   ///< unique name of the provider
        std::function<void(const std::string& name, const std::string& owner)> on_owner{};  ///< empty owner: nobody any more
    };
    /// What came of a provider's `Call`.
    struct Answer {
        Delivery delivery{};
        std::string owner{};  ///< unique name of who answered
    };

    BusLink(net::EventLoop& loop, cetp::Bus kind, Events events);
    BusLink(const BusLink&) = delete;
    BusLink& operator=(const BusLink&) = delete;
    ~BusLink();

    /// Connects now if it can, and stays connected until stop().
    void start();
    void stop(std::function<void()> done);
    bool connected() const;

    /// The method `Call` of `com.clawseed.Cetp.Provider1`, with the outcomes of section 2.
    Task<Answer> call(const std::string& name, const std::string& path, const cetp::MethodCall& call, Deadline deadline);
    /// The property `Version`; 1 when it cannot be had.
    Task<std::uint32_t> version(const std::string& name, const std::string& path, Deadline deadline);
    /// `StartServiceByName`, and `ReloadConfig` when the bus knows no such service.
    Task<void> start_service(const std::string& name, Deadline deadline);
    /// `ListActivatableNames`; empty when it fails.
    Task<std::vector<std::string>> activatable_names(Deadline deadline);
    /// A desktop notification; whether anybody shows it is not known.
    void notify(const std::string& title, const std::string& text);

private:
    class Connection;
    struct Reply;
    Task<void> keep_connected();

    net::EventLoop& loop_;
    const cetp::Bus kind_;
    const Events events_;
    std::shared_ptr<Connection> connection_;  // while there is one
    TaskGroup tasks_;
};

}  // namespace crab::app
