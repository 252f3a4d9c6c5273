#pragma once

#include "adapters/cetp/envelope.hpp"
#include "adapters/cetp/provider_record.hpp"
#include "base/task/task_group.hpp"
#include "bridge/dbus/bus_link.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace crab::bridge {

/// Notifies the user that a provider needs them to act, at most once a minute for each; a click
/// starts the action that the provider named, in its own app. Used on the loop's thread. Source:
/// docs/protocols/cetp.md, rule 27 and section 2; Desktop Notifications Specification 1.2; Desktop
/// Entry Specification, D-Bus activation.
class Notifications {
public:
    static constexpr std::chrono::minutes kEvery{1};

    /// `tasks` must be stopped before destruction.
    Notifications(net::EventLoop& loop, BusLink& session, TaskGroup& tasks)
        : loop_(loop), session_(session), tasks_(tasks) {}

    void tell(const cetp::ProviderRecord& provider, const cetp::Envelope& request);
    /// `ActionInvoked`: the user clicked.
    void on_click(std::uint32_t notification);

private:
    /// The action of an app that a click starts.
    struct Action {
        std::string desktop_id{}, name{};
    };
    Task<void> show(std::string title, std::string text, Action action);
    Task<void> start(Action action);

    net::EventLoop& loop_;
    BusLink& session_;
    TaskGroup& tasks_;
    std::map<std::string, SteadyTime> told_;  // provider id → when
    std::map<std::uint32_t, Action> shown_;   // by notification
};

}  // namespace crab::bridge
