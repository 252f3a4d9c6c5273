#include "gateway/event_loops.hpp"

#include <algorithm>
#include <thread>

namespace crab::gateway {

std::span<const ConfigKey> EventLoops::keys() const {
    using Config = const config::GatewayConfig&;
    static constexpr ConfigKey kKeys[] = {
        restart_key("gateway.threads", [](Config c) { return c.gateway.threads; })};
    return kKeys;
}

Result<void> EventLoops::start() {
    const std::size_t wanted = context_.config.gateway.threads;
    const std::size_t threads =
        wanted != 0 ? wanted : std::max(1u, std::thread::hardware_concurrency());
    loops_ = std::make_unique<net::LoopGroup>(threads, context_.clock);
    return {};
}

void EventLoops::run() {
    if (!std::exchange(running_, true)) loops_->start();
}

void EventLoops::stop(Deadline) { loops_->stop_and_join(); }

std::vector<net::EventLoop*> EventLoops::all() {
    std::vector<net::EventLoop*> all;
    for (std::size_t i = 0; i < loops_->size(); ++i) all.push_back(&loops_->at(i));
    return all;
}

}  // namespace crab::gateway
