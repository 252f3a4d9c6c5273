#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "push/subscription_store.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::push {

/// The browsers that want to be told of calls that wait for a person. Thread-safe; what may block
/// says so.
class Subscriptions {
public:
    /// Of each purpose, so that devices take no place of an operator.
    static constexpr std::size_t kMost = 256, kMostOfOnePrincipal = 8;

    /// `is_good`: whether what a subscription ends with has not ended. Any thread; must not block.
    Subscriptions(std::shared_ptr<SubscriptionStore> store, const Clock& clock,
                  std::function<bool(const Subscription&)> is_good)
        : store_(std::move(store)), clock_(clock), is_good_(std::move(is_good)) {}

    /// Those of the store that are good; the others are forgotten. Blocks. Errors: those of the
    /// store.
    Result<void> load();
    /// Called after every change, without the lock. Set once, before others know this.
    void on_changed(std::function<void()> callback) { changed_ = std::move(callback); }

    /// One more, in the place of one with the same endpoint, which has to be of the same principal.
    /// Blocks. Errors: kForbidden for the endpoint of somebody else, and for one that is not good;
    /// kConflict for too many; those of the store.
    Result<Subscription> add(Subscription wanted, Purpose purpose = Purpose::kQuestions);
    /// Blocks. Errors: kNotFound, also for one of another principal; those of the store.
    Result<void> remove(std::string_view id, std::string_view principal);
    /// Forgets those that `which` says; blocks.
    void remove_those(const std::function<bool(const Subscription&)>& which);
    /// Forgets those whose credential has ended, as by its time; blocks.
    void forget_ended();
    /// The good ones.
    std::vector<Subscription> list(Purpose purpose = Purpose::kQuestions) const;
    /// Those of a device that is to be woken.
    std::vector<Subscription> of_device(std::string_view principal) const;
    std::optional<Subscription> find(std::string_view id) const;

private:
    Result<void> keep(const Subscription& wanted);
    std::vector<Subscription> good_ones(
        const std::function<bool(const Subscription&)>& which) const;
    std::vector<std::string> forget(const std::function<bool(const Subscription&)>& which);
    void tell() const {
        if (changed_) changed_();
    }

    const std::shared_ptr<SubscriptionStore> store_;
    const Clock& clock_;
    const std::function<bool(const Subscription&)> is_good_;
    std::function<void()> changed_;
    mutable std::mutex mutex_;
    std::vector<Subscription> kept_;
};

}  // namespace crab::push
