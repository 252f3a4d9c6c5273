#pragma once

#include "bridge/bridge_paths.hpp"
#include "bridge/built_in/built_in_provider.hpp"
#include "bridge/bus_transport.hpp"
#include "bridge/provider_transport.hpp"

#include <map>
#include <string>

namespace crab::bridge {

/// The providers inside the bridge. Source: docs/protocols/cetp.md, section 5.
class BuiltInTransport final : public ProviderTransport {
public:
    /// `bus` must outlive the transport's last call.
    BuiltInTransport(net::EventLoop& loop, BusTransport& bus, const BridgePaths& paths);

    Task<Delivery> send(const cetp::ProviderRecord& provider, const cetp::MethodCall& call,
                        Deadline deadline) override;
    /// Does nothing: their services are started by the bus.
    Task<void> start_silently(const cetp::ProviderRecord& provider, Deadline deadline) override;

private:
    BlockingPool blocking_{2};
    const Sources sources_;
    // by id; created on first use
    std::map<std::string, BuiltInProvider, std::less<>> providers_;
};

}  // namespace crab::bridge
