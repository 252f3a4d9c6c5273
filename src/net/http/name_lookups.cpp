#include "net/http/name_lookups.hpp"

#include "base/task/waiter.hpp"

#include <algorithm>
#include <utility>

namespace crab::net {

struct NameLookups::Asker : RemoteWaiter {
    using RemoteWaiter::RemoteWaiter;
    Result<std::vector<SocketAddress>> found =
        fail(ErrorCode::kTimeout, "the name was not resolved in time");
};

Task<Result<std::vector<SocketAddress>>> NameLookups::find(EventLoop& loop, Endpoint endpoint,
                                                           Deadline deadline, std::string line) {
    if (const auto plain = to_socket_address(endpoint)) co_return std::vector{*plain};
    if (line.empty()) line = endpoint.host;
    const auto asker = std::make_shared<Asker>(loop.executor(), loop.timers());
    std::string what = line + '\n' + endpoint.text();
    const bool is_first = [&] {
        const std::scoped_lock lock(mutex_);
        const auto [at, added] = askers_.try_emplace(what);
        std::erase_if(at->second, [](const auto& each) { return each.expired(); });
        at->second.push_back(asker);
        return added;
    }();
    if (is_first) {
        threads_.post(std::move(line), [this, what = std::move(what), endpoint] {
            look_up(what, endpoint);
            return false;
        });
    }
    switch (co_await asker->wait(deadline)) {
        case WaitEnd::kWoken: co_return std::move(asker->found);
        case WaitEnd::kExpired:
            co_return fail(ErrorCode::kTimeout, "the name was not resolved in time");
        case WaitEnd::kCancelled: break;
    }
    co_return fail(ErrorCode::kCancelled, "looking up the name was cancelled");
}

Task<Result<DialTarget>> NameLookups::find_target(Endpoint endpoint,
                                                  std::shared_ptr<TlsContext> tls,
                                                  Deadline deadline) {
    DialTarget target;
    target.tls = std::move(tls);
    target.server_name = endpoint.host;
    auto addresses = co_await find(*EventLoop::current(), std::move(endpoint), deadline);
    if (!addresses) co_return fail(std::move(addresses.error()));
    target.addresses = std::move(*addresses);
    co_return target;
}

/// Whoever asked may have given up while no thread was free.
bool NameLookups::is_wanted(const std::string& what) {
    const std::scoped_lock lock(mutex_);
    const auto found = askers_.find(what);
    if (std::ranges::any_of(found->second, [](const auto& each) { return !each.expired(); }))
        return true;
    askers_.erase(found);
    return false;
}

void NameLookups::look_up(const std::string& what, const Endpoint& endpoint) {
    if (!is_wanted(what)) return;
    const auto found = resolve_(endpoint);
    std::vector<std::weak_ptr<Asker>> askers;
    {
        const std::scoped_lock lock(mutex_);
        askers = std::move(askers_.extract(what).mapped());
    }
    for (const auto& each : askers) {
        const auto asker = each.lock();
        if (!asker) continue;
        asker->found = found;
        asker->wake();
    }
}

}  // namespace crab::net
