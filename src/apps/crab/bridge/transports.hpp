#pragma once

#include "apps/crab/bridge/provider_caller.hpp"
#include "base/blocking_pool.hpp"

namespace crab::app {

/// Every way to reach providers that this machine offers.
ProviderCaller::Transports make_transports(net::EventLoop& loop, BlockingPool& blocking);

}  // namespace crab::app
