#pragma once

#include "bridge/bus_transport.hpp"
#include "bridge/provider_caller.hpp"

namespace crab::bridge {

/// Every way to reach providers that this machine offers. Without a working bubblewrap there is
/// none for commands.
struct MachineTransports {
    ProviderCaller::Transports all;
    BusTransport* bus;  ///< in `all`; its owner starts and stops it
};
/// Blocks for a trial of bubblewrap.
MachineTransports make_transports(net::EventLoop& loop, BusLink::Events events);

}  // namespace crab::bridge
