#include "console/login_tries.hpp"

#include <utility>

namespace crab::console {
namespace {

constexpr std::chrono::minutes kWindow{1};

std::unexpected<Error> wait(Milliseconds time) {
    Error error;
    error.code = ErrorCode::kRateLimited;
    error.message = "too many tries to sign in from this address; wait a minute";
    error.retry_after = time;
    return std::unexpected(std::move(error));
}

}  // namespace

Result<void> LoginTries::count(std::string_view address, std::size_t per_minute) {
    const SteadyTime now = clock_.steady_now();
    while (!order_.empty() && tries_.at(order_.front()).front() + kWindow <= now) forget_oldest();
    if (order_.size() >= options_.remembered) forget_oldest();
    std::string key(address);
    std::deque<SteadyTime>& tries = tries_[key];
    if (tries.size() >= per_minute)
        return wait(std::chrono::ceil<Milliseconds>(tries.front() + kWindow - now));
    tries.push_back(now);
    order_.push_back(std::move(key));
    return {};
}

void LoginTries::forget_oldest() {
    const auto oldest = tries_.find(order_.front());
    oldest->second.pop_front();
    if (oldest->second.empty()) tries_.erase(oldest);
    order_.pop_front();
}

}  // namespace crab::console
