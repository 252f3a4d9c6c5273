#pragma once

#include "base/blocking_pool.hpp"
#include "net/endpoint.hpp"
#include "net/event_loop.hpp"

#include <vector>

namespace crab::rtp {

/// Where `endpoint` is: at once for an address; a name is looked up on `pool`, for as long as that likes, while the asker waits at most
/// until `deadline`. On `loop`'s thread. Errors: those of net::resolve(); kTimeout, kCancelled.
Task<Result<std::vector<net::SocketAddress>>> find_addresses(net::EventLoop& loop, BlockingPool& pool, net::Endpoint endpoint, Deadline deadline);

}  // namespace crab::rtp
