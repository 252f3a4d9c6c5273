#pragma once

#include "bridge/dbus/bus_link.hpp"
#include "bridge/provider_transport.hpp"

#include <functional>
#include <map>
#include <string>

namespace crab::bridge {

/// Providers on the session bus and the system bus. Source: docs/protocols/cetp.md, section 2.
class BusTransport final : public ProviderTransport {
public:
    /// `events` are those of the session bus; the system bus is not watched.
    BusTransport(net::EventLoop& loop, BusLink::Events events);

    /// Connects to the session bus; the system bus is dialled when a provider needs it.
    void start();
    void stop(std::function<void()> done);
    BusLink& session() { return session_; }
    BusLink& link_for(cetp::Bus bus);

    Task<Delivery> send(const cetp::ProviderRecord& provider, const cetp::MethodCall& call,
                        Deadline deadline) override;
    Task<void> start_silently(const cetp::ProviderRecord& provider, Deadline deadline) override;

    /// The provider that has answered under this unique name; may be empty.
    std::string provider_of(const std::string& owner) const;

private:
    net::EventLoop& loop_;
    BusLink session_, system_;
    bool system_started_ = false;
    std::map<std::string, std::string> owners_;  // unique name → provider id
};

}  // namespace crab::bridge
