#include "adapters/mcp/client/ending_child.hpp"

#include <csignal>
#include <utility>

#include <poll.h>
#include <sys/epoll.h>

namespace crab::mcp {

EndingChild::EndingChild(net::EventLoop& loop, Child child,
                         std::shared_ptr<ChildSupervisor> supervisor, Milliseconds grace)
    : loop_(loop), grace_(grace), supervisor_(std::move(supervisor)), child_(std::move(child)) {}

void EndingChild::leave(net::EventLoop& loop, Child child,
                        std::shared_ptr<ChildSupervisor> supervisor, Milliseconds grace) {
    const std::shared_ptr<EndingChild> ending(
        new EndingChild(loop, std::move(child), std::move(supervisor), grace));
    if (!loop.watch(ending->child_.ended(), EPOLLIN, *ending)) return;  // then it is waited for
    ending->self_ = ending;
    loop.timers().arm(*ending, loop.clock().steady_now() + grace);
}

/// Of one that could not be watched, or whose loop ends; killed at once a supervisor would leave
/// what it watches.
EndingChild::~EndingChild() {
    if (!child_.is_there()) return;
    pollfd ended{child_.ended(), POLLIN, 0};
    ::poll(&ended, 1, static_cast<int>(grace_.count()));
}

void EndingChild::on_ready(std::uint32_t) {
    if (!child_.is_there() || !child_.has_ended()) return;
    loop_.unwatch(child_.ended(), *this);
    disarm();
    child_.reap();  // and what is left of its group
    loop_.destroy_later(std::exchange(self_, nullptr));
}

void EndingChild::on_loop_end() { loop_.destroy_later(std::exchange(self_, nullptr)); }

void EndingChild::on_expired() { child_.kill_group(SIGKILL); }

}  // namespace crab::mcp
