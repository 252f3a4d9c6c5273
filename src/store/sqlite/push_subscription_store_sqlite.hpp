#pragma once

#include "base/ordered_mutex.hpp"
#include "push/subscription_store.hpp"
#include "store/sqlite/database.hpp"

#include <filesystem>
#include <memory>

namespace crab::store::sqlite {

/// Browsers that are told of questions, in the table `push_subscription`. Thread-safe.
class PushSubscriptionStoreSqlite final : public push::SubscriptionStore {
public:
    /// Errors: those of Database.
    static Result<std::unique_ptr<PushSubscriptionStoreSqlite>> open(
        const std::filesystem::path& path, DatabaseOptions options = {});

    Result<std::vector<push::Subscription>> load_all() override;
    Result<void> insert(const push::Subscription& subscription) override;
    Result<void> remove(std::span<const std::string> ids) override;

private:
    explicit PushSubscriptionStoreSqlite(Database database) : database_(std::move(database)) {}

    OrderedMutex<LockRank::kStore> mutex_;
    Database database_;
};

}  // namespace crab::store::sqlite
