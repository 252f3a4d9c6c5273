#include "core/early_cancels.hpp"

#include <fmt/format.h>

namespace crab::core {
namespace {

constexpr std::chrono::seconds kKeep{10};

std::string key_of(std::string_view tenant, std::string_view principal, std::string_view call_id) { return fmt::format("{}\n{}\n{}", tenant, principal, call_id); }

}  // namespace

void EarlyCancels::drop_old(SteadyTime now) {
    while (!order_.empty() && (order_.front().until <= now || order_.size() > kMost)) {
        const auto it = until_.find(order_.front().key);
        if (it != until_.end() && it->second == order_.front().until) until_.erase(it);
        order_.pop_front();
    }
    count_ = until_.size();
}

void EarlyCancels::remember(std::string_view tenant, std::string_view principal, std::string_view call_id, SteadyTime now) {
    const std::scoped_lock lock(mutex_);
    std::string key = key_of(tenant, principal, call_id);
    until_[key] = now + kKeep;
    order_.push_back({std::move(key), now + kKeep});
    drop_old(now);
}

bool EarlyCancels::take(std::string_view tenant, std::string_view principal, std::string_view call_id, SteadyTime now) {
    if (count_.load(std::memory_order_relaxed) == 0) return false;
    const std::scoped_lock lock(mutex_);
    drop_old(now);
    const bool found = until_.erase(key_of(tenant, principal, call_id)) > 0;
    count_ = until_.size();
    return found;
}

}  // namespace crab::core
