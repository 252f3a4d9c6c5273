#include "store/sqlite/push_subscription_store_sqlite.hpp"

#include "base/encoding.hpp"

#include <array>

namespace crab::store::sqlite {
namespace {

constexpr std::array<std::string_view, 1> kPushSchema{R"(
    CREATE TABLE push_subscription (
        id TEXT PRIMARY KEY,
        principal TEXT NOT NULL,
        credential TEXT NOT NULL,
        endpoint TEXT NOT NULL UNIQUE,
        receiver_point BLOB NOT NULL,
        receiver_secret BLOB NOT NULL,
        created_ms INTEGER NOT NULL
    ) STRICT;
)"};

std::string receiver_bytes(std::span<const std::uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<std::unique_ptr<PushSubscriptionStoreSqlite>> PushSubscriptionStoreSqlite::open(
    const std::filesystem::path& path, DatabaseOptions options) {
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto migrated = database->migrate("push_subscriptions", kPushSchema); !migrated)
        return fail(std::move(migrated.error()));
    return std::unique_ptr<PushSubscriptionStoreSqlite>(
        new PushSubscriptionStoreSqlite(std::move(*database)));
}

Result<std::vector<push::Subscription>> PushSubscriptionStoreSqlite::load_all() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT id, principal, credential, endpoint, receiver_point, receiver_secret, created_ms "
        "FROM push_subscription ORDER BY created_ms, id");
    if (!rows) return fail(std::move(rows.error()));
    std::vector<push::Subscription> subscriptions;
    for (;;) {
        const auto more = rows->step();
        if (!more) return fail(more.error());
        if (!*more) return subscriptions;
        subscriptions.push_back({.id = rows->text(0),
                                 .principal = rows->text(1),
                                 .credential = rows->text(2),
                                 .endpoint = rows->text(3),
                                 .keys = {.point = receiver_bytes(rows->bytes(4)),
                                          .secret = receiver_bytes(rows->bytes(5))},
                                 .created_at = rows->time(6)});
    }
}

Result<void> PushSubscriptionStoreSqlite::insert(const push::Subscription& subscription) {
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "INSERT OR REPLACE INTO push_subscription (id, principal, credential, endpoint, "
        "receiver_point, receiver_secret, created_ms) VALUES (?, ?, ?, ?, ?, ?, ?)",
        subscription.id, subscription.principal, subscription.credential, subscription.endpoint,
        bytes_of(subscription.keys.point), bytes_of(subscription.keys.secret),
        subscription.created_at);
}

Result<void> PushSubscriptionStoreSqlite::remove(std::span<const std::string> ids) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        for (const std::string& id : ids) {
            if (auto done = database_.run("DELETE FROM push_subscription WHERE id = ?", id); !done)
                return done;
        }
        return {};
    });
}

}  // namespace crab::store::sqlite
