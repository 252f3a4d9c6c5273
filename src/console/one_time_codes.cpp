#include "console/one_time_codes.hpp"

#include "console/digest_of.hpp"

namespace crab::console {

Secret<std::string> OneTimeCodes::open() {
    const SteadyTime now = clock_.steady_now();
    drop_dead(now);
    if (open_.size() >= options_.max_open) open_.pop_front();
    Secret<std::string> code = draw_secret(random_);
    open_.push_back({crypto::sha256(code.reveal()), now + options_.lifetime});
    return code;
}

bool OneTimeCodes::redeem(std::string_view code) {
    drop_dead(clock_.steady_now());
    // all are looked at, so that the time tells nothing of which one was near
    auto found = open_.end();
    for (auto each = open_.begin(); each != open_.end(); ++each) {
        if (is_digest_of(each->digest, code)) found = each;
    }
    if (found == open_.end()) return false;
    open_.erase(found);
    return true;
}

void OneTimeCodes::drop_dead(SteadyTime now) {
    while (!open_.empty() && open_.front().expires_at <= now) open_.pop_front();
}

}  // namespace crab::console
