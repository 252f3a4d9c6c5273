#include "console/login_tries.hpp"

#include <iterator>

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

Result<void> LoginTries::count(std::string_view address) {
    const SteadyTime now = clock_.steady_now();
    drop_old(now);
    auto known = tries_.find(std::string(address));
    if (known == tries_.end()) {
        if (tries_.size() >= options_.max_addresses) return wait(kWindow);
        known = tries_.try_emplace(std::string(address)).first;
    }
    std::deque<SteadyTime>& tries = known->second;
    if (tries.size() >= options_.per_minute)
        return wait(std::chrono::ceil<Milliseconds>(tries.front() + kWindow - now));
    tries.push_back(now);
    return {};
}

void LoginTries::drop_old(SteadyTime now) {
    for (auto entry = tries_.begin(); entry != tries_.end();) {
        std::deque<SteadyTime>& tries = entry->second;
        while (!tries.empty() && tries.front() + kWindow <= now) tries.pop_front();
        entry = tries.empty() ? tries_.erase(entry) : std::next(entry);
    }
}

}  // namespace crab::console
