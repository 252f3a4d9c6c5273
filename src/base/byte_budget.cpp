#include "base/byte_budget.hpp"

#include <algorithm>

namespace crab {

bool ByteBudget::take(std::size_t bytes) {
    const std::size_t before = held_.fetch_add(bytes, std::memory_order_relaxed);
    if (before <= most_ && bytes <= most_ - before && (!whole_ || whole_->take(bytes))) return true;
    held_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
}

void ByteBudget::give(std::size_t bytes) {
    held_.fetch_sub(bytes, std::memory_order_relaxed);
    if (whole_) whole_->give(bytes);
}

std::shared_ptr<ByteBudget> ByteBudgets::of(std::string_view name) {
    const std::scoped_lock lock(mutex_);
    std::weak_ptr<ByteBudget>& known = named_[std::string(name)];
    auto budget = known.lock();
    if (!budget) known = budget = std::make_shared<ByteBudget>(most_of_one_, whole_);
    if (named_.size() >= forget_at_) {
        std::erase_if(named_, [](const auto& entry) { return entry.second.expired(); });
        forget_at_ = std::max<std::size_t>(64, 2 * named_.size());
    }
    return budget;
}

}  // namespace crab
