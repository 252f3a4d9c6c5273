#include "core/policy/principal_limits.hpp"

namespace crab::core {

std::shared_ptr<void> PrincipalLimits::take(const std::string& principal) {
    const std::scoped_lock lock(mutex_);
    std::size_t& taken = taken_[principal];
    if (taken >= most_) return nullptr;
    ++taken;
    return {this, [this, principal](void*) {
                const std::scoped_lock again(mutex_);
                const auto found = taken_.find(principal);
                if (--found->second == 0) taken_.erase(found);
            }};
}

std::size_t PrincipalLimits::count(const std::string& principal) const {
    const std::scoped_lock lock(mutex_);
    const auto found = taken_.find(principal);
    return found == taken_.end() ? 0 : found->second;
}

}  // namespace crab::core
