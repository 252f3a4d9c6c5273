#include "adapters/rtp/find_addresses.hpp"

#include "base/waiter.hpp"

namespace crab::rtp {
namespace {

struct Lookup : RemoteWaiter {
    using RemoteWaiter::RemoteWaiter;
    Result<std::vector<net::SocketAddress>> found = fail(ErrorCode::kTimeout, "the name was not resolved in time");
};

}  // namespace

Task<Result<std::vector<net::SocketAddress>>> find_addresses(net::EventLoop& loop, BlockingPool& pool, net::Endpoint endpoint, Deadline deadline) {
    if (const auto plain = net::to_socket_address(endpoint)) co_return std::vector{*plain};
    const auto lookup = std::make_shared<Lookup>(loop.executor(), loop.timers());
    pool.post([lookup, endpoint] {
        lookup->found = net::resolve(endpoint);
        lookup->wake();
    });
    switch (co_await lookup->wait(deadline)) {
        case WaitEnd::kWoken: co_return std::move(lookup->found);
        case WaitEnd::kExpired: co_return fail(ErrorCode::kTimeout, "the name was not resolved in time");
        case WaitEnd::kCancelled: break;
    }
    co_return fail(ErrorCode::kCancelled, "looking up the name was cancelled");
}

}  // namespace crab::rtp
