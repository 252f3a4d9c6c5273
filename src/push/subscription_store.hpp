#pragma once

#include "base/result.hpp"
#include "push/subscription.hpp"

#include <span>
#include <string>
#include <vector>

namespace crab::push {

/// Store of subscriptions. Every function may block and is atomic and durable. Errors: kUnavailable
/// (disk full, busy, I/O), kInternal.
class SubscriptionStore {
public:
    virtual ~SubscriptionStore() = default;

    /// The oldest first.
    virtual Result<std::vector<Subscription>> load_all() = 0;
    /// In the place of one with the same endpoint.
    virtual Result<void> insert(const Subscription& subscription) = 0;
    virtual Result<void> remove(std::span<const std::string> ids) = 0;
};

}  // namespace crab::push
