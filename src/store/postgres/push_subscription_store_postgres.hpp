#pragma once

#include "base/ordered_mutex.hpp"
#include "push/subscription_store.hpp"
#include "store/postgres/connection.hpp"

#include <cstdint>
#include <utility>

namespace crab::store::postgres {

/// Browsers that one node tells of questions; they are bound to its key. The schema is there.
/// Thread-safe.
class PushSubscriptionStorePostgres final : public push::SubscriptionStore {
public:
    PushSubscriptionStorePostgres(ConnectionOptions options, std::int16_t node)
        : node_(node), database_(std::move(options)) {}

    Result<std::vector<push::Subscription>> load_all() override;
    Result<void> insert(const push::Subscription& subscription) override;
    Result<void> remove(std::span<const std::string> ids) override;

private:
    const std::int16_t node_;
    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
