#pragma once

#include "bridge/bus_transport.hpp"
#include "bridge/provider_caller.hpp"

namespace crab::bridge {

/// The transports available on this machine. Without a working bubblewrap there is none for
/// commands.
struct MachineTransports {
    ProviderCaller::Transports all;
    BusTransport* bus;  ///< in `all`; its owner starts and stops it
};
/// Blocks while it tries bubblewrap.
MachineTransports make_transports(net::EventLoop& loop, BusLink::Events events);

}  // namespace crab::bridge
