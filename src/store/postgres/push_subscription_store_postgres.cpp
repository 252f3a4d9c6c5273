#include "store/postgres/push_subscription_store_postgres.hpp"

#include "base/encoding.hpp"

namespace crab::store::postgres {

Result<std::vector<push::Subscription>> PushSubscriptionStorePostgres::load_all() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT id, principal, credential, endpoint, receiver_point, receiver_secret, created_ms "
        "FROM push_subscription WHERE node = $1 ORDER BY created_ms, id",
        node_);
    if (!rows) return fail(std::move(rows.error()));
    std::vector<push::Subscription> subscriptions;
    for (const auto row : *rows)
        subscriptions.push_back({.id = row.text(0),
                                 .principal = row.text(1),
                                 .credential = row.text(2),
                                 .endpoint = row.text(3),
                                 .keys = {.point = row.bytes(4), .secret = row.bytes(5)},
                                 .created_at = row.time(6)});
    return subscriptions;
}

Result<void> PushSubscriptionStorePostgres::insert(const push::Subscription& subscription) {
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "INSERT INTO push_subscription (node, id, principal, credential, endpoint, "
        "receiver_point, receiver_secret, created_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "
        "ON CONFLICT (node, endpoint) DO UPDATE SET id = excluded.id, "
        "principal = excluded.principal, credential = excluded.credential, "
        "receiver_point = excluded.receiver_point, receiver_secret = excluded.receiver_secret, "
        "created_ms = excluded.created_ms",
        node_, subscription.id, subscription.principal, subscription.credential,
        subscription.endpoint, bytes_of(subscription.keys.point),
        bytes_of(subscription.keys.secret), subscription.created_at);
}

Result<void> PushSubscriptionStorePostgres::remove(std::span<const std::string> ids) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        for (const std::string& id : ids) {
            if (auto done = database_.run(
                    "DELETE FROM push_subscription WHERE node = $1 AND id = $2", node_, id);
                !done)
                return done;
        }
        return {};
    });
}

}  // namespace crab::store::postgres
