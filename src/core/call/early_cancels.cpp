#include "core/call/early_cancels.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::core {
namespace {

constexpr std::chrono::seconds kKeep{10};
constexpr std::chrono::seconds kBetweenSweeps{1};

std::string name_of(std::string_view tenant, std::string_view call_id) {
    return fmt::format("{}\n{}", tenant, call_id);
}

}  // namespace

void EarlyCancels::drop_old(SteadyTime now) {
    if (now < swept_ + kBetweenSweeps) return;
    swept_ = now;
    std::size_t count = 0;
    for (auto& [principal, own] : kept_) {
        while (!own.empty() && own.front().until <= now) own.pop_front();
        count += own.size();
    }
    std::erase_if(kept_, [](const auto& each) { return each.second.empty(); });
    count_ = count;
}

void EarlyCancels::remember(std::string_view tenant, std::string_view principal,
                            std::string_view call_id, SteadyTime now) {
    const std::scoped_lock lock(mutex_);
    drop_old(now);
    std::string name = name_of(tenant, call_id);
    const auto known = kept_.find(principal);
    const bool full = count_ >= kMostAltogether;
    if (known == kept_.end() && full) return;
    Own& own = known != kept_.end() ? known->second : kept_[std::string(principal)];
    count_ -= std::erase_if(own, [&](const Kept& each) { return each.name == name; });
    if (!own.empty() && (own.size() >= kMostEach || count_ >= kMostAltogether)) {
        own.pop_front();
        --count_;
    }
    own.push_back({std::move(name), now + kKeep});
    ++count_;
}

bool EarlyCancels::take(std::string_view tenant, std::string_view principal,
                        std::string_view call_id, SteadyTime now) {
    if (count_.load(std::memory_order_relaxed) == 0) return false;
    const std::scoped_lock lock(mutex_);
    drop_old(now);
    const auto known = kept_.find(principal);
    if (known == kept_.end()) return false;
    Own& own = known->second;
    const auto found = std::ranges::find(own, name_of(tenant, call_id), &Kept::name);
    if (found == own.end()) return false;
    const bool in_time = found->until > now;
    own.erase(found);
    --count_;
    if (own.empty()) kept_.erase(known);
    return in_time;
}

}  // namespace crab::core
