#include "gateway/service_watchdog.hpp"

#include "gateway/service_manager.hpp"

#include <algorithm>

namespace crab::gateway {

namespace {

/// Two answers may be late before the service manager loses its patience.
constexpr int kFeedsPerInterval = 4;

}  // namespace

Result<void> ServiceWatchdog::start() {
    for (std::size_t i = 0; i < loops_.all().size(); ++i)
        waiting_.push_back(std::make_shared<std::atomic<bool>>(false));
    if (const auto interval = watchdog_interval()) {
        const Milliseconds every = std::max(*interval / kFeedsPerInterval, Milliseconds(1));
        watch_ = std::make_unique<net::Periodic>(loops_.first(), every, [this] { look(); });
    }
    return {};
}

void ServiceWatchdog::look() {
    const auto loops = loops_.all();
    if (std::ranges::none_of(waiting_, [](const auto& each) { return each->load(); })) feed_();
    for (std::size_t i = 0; i < loops.size(); ++i) {
        if (waiting_[i]->exchange(true)) continue;
        loops[i]->post([waiting = waiting_[i]] { *waiting = false; });
    }
}

void ServiceWatchdog::stop(Deadline deadline) {
    loops_.finish(loops_.first(), deadline, [this](const std::function<void()>& done) {
        watch_.reset();
        done();
    });
}

}  // namespace crab::gateway
