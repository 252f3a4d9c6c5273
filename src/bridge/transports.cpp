#include "bridge/transports.hpp"

#include "bridge/built_in_transport.hpp"
#include "bridge/exec_transport.hpp"
#include "bridge/unix_transport.hpp"

#include <cstdlib>

namespace crab::bridge {

MachineTransports make_transports(net::EventLoop& loop, BusLink::Events events) {
    auto bus = std::make_unique<BusTransport>(loop, std::move(events));
    MachineTransports transports{.all = {}, .bus = bus.get()};
    transports.all.emplace(cetp::Transport::kBuiltIn,
                           std::make_unique<BuiltInTransport>(loop, *bus, BridgePaths::find()));
    transports.all.emplace(cetp::Transport::kDbus, std::move(bus));
    transports.all.emplace(cetp::Transport::kUnix, std::make_unique<UnixTransport>(loop));
    if (auto bubblewrap = find_bubblewrap()) {
        const char* home = std::getenv("HOME");
        transports.all.emplace(
            cetp::Transport::kExec,
            std::make_unique<ExecTransport>(loop, *std::move(bubblewrap),
                                            home != nullptr ? home : "/nonexistent"));
    }
    return transports;
}

}  // namespace crab::bridge
