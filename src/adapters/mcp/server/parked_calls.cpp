#include "adapters/mcp/server/parked_calls.hpp"

#include <algorithm>
#include <utility>

namespace crab::mcp {

void ParkedCalls::forget_old() {
    const SteadyTime now = clock_.steady_now();
    std::erase_if(calls_, [&](const auto& each) {
        const auto ended = each.second->ended_at();
        return ended && now - *ended >= kept_;
    });
}

bool ParkedCalls::sweep() {
    const std::scoped_lock lock(mutex_);
    forget_old();
    return !calls_.empty();
}

bool ParkedCalls::keep(const std::shared_ptr<ParkedCall>& call) {
    const std::string& principal = call->facts().principal;
    const std::scoped_lock lock(mutex_);
    if (calls_.contains(call->facts().key)) return true;
    forget_old();
    const auto its = std::ranges::count_if(
        calls_, [&](const auto& each) { return each.second->facts().principal == principal; });
    if (calls_.size() >= limits_.in_all || std::cmp_greater_equal(its, limits_.per_principal))
        return false;
    if (!call->count_in(bytes_.of(principal))) return false;
    calls_.emplace(call->facts().key, call);
    return true;
}

std::shared_ptr<ParkedCall> ParkedCalls::find(std::string_view key) const {
    const std::scoped_lock lock(mutex_);
    const auto found = calls_.find(key);
    return found == calls_.end() ? nullptr : found->second;
}

void ParkedCalls::end_credential(std::string_view credential) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [key, call] : calls_)
        if (!credential.empty() && call->facts().credential == credential) call->cancel();
}

void ParkedCalls::give_up() {
    const std::scoped_lock lock(mutex_);
    for (const auto& [key, call] : calls_) call->give_up();
}

}  // namespace crab::mcp
