#include "net/find_addresses.hpp"

#include "base/waiter.hpp"

namespace crab::net {
namespace {

struct Lookup : RemoteWaiter {
    using RemoteWaiter::RemoteWaiter;
    Result<std::vector<SocketAddress>> found = fail(ErrorCode::kTimeout, "the name was not resolved in time");
};

}  // namespace

Task<Result<std::vector<SocketAddress>>> find_addresses(EventLoop& loop, BlockingPool& pool, Endpoint endpoint, Deadline deadline) {
    if (const auto plain = to_socket_address(endpoint)) co_return std::vector{*plain};
    const auto lookup = std::make_shared<Lookup>(loop.executor(), loop.timers());
    pool.post([lookup, endpoint] {
        lookup->found = resolve(endpoint);
        lookup->wake();
    });
    switch (co_await lookup->wait(deadline)) {
        case WaitEnd::kWoken: co_return std::move(lookup->found);
        case WaitEnd::kExpired: co_return fail(ErrorCode::kTimeout, "the name was not resolved in time");
        case WaitEnd::kCancelled: break;
    }
    co_return fail(ErrorCode::kCancelled, "looking up the name was cancelled");
}

Task<Result<DialTarget>> find_target(Endpoint endpoint, std::shared_ptr<TlsContext> tls, BlockingPool& pool, Deadline deadline) {
    DialTarget target;
    target.tls = std::move(tls);
    target.server_name = endpoint.host;
    auto addresses = co_await find_addresses(*EventLoop::current(), pool, std::move(endpoint), deadline);
    if (!addresses) co_return fail(std::move(addresses.error()));
    target.addresses = std::move(*addresses);
    co_return target;
}

}  // namespace crab::net
