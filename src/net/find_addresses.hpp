#pragma once

#include "base/blocking_pool.hpp"
#include "net/dialer.hpp"
#include "net/endpoint.hpp"
#include "net/event_loop.hpp"

#include <memory>
#include <vector>

namespace crab::net {

/// Where `endpoint` is: at once for an address; a name is looked up on `pool`, for as long as that likes, while the asker waits at most
/// until `deadline`. On `loop`'s thread. Errors: those of resolve(); kTimeout, kCancelled.
Task<Result<std::vector<SocketAddress>>> find_addresses(EventLoop& loop, BlockingPool& pool, Endpoint endpoint, Deadline deadline);

/// The same as a target for dial(), on the thread's own loop; `tls` null for a plain one.
Task<Result<DialTarget>> find_target(Endpoint endpoint, std::shared_ptr<TlsContext> tls, BlockingPool& pool, Deadline deadline);

}  // namespace crab::net
