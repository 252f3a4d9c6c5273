#include "apps/crab/bridge/transports.hpp"

#include "apps/crab/bridge/unix_transport.hpp"

namespace crab::app {

ProviderCaller::Transports make_transports(net::EventLoop& loop, BlockingPool&) {
    ProviderCaller::Transports transports;
    transports.emplace(cetp::Transport::kUnix, std::make_unique<UnixTransport>(loop));
    return transports;
}

}  // namespace crab::app
