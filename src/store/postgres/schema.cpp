#include "store/postgres/schema.hpp"

#include "base/log.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace crab::store::postgres {
namespace {

/// Of the advisory lock: "crab", a number that others hardly use.
constexpr std::int64_t kMigrationLock = 0x63726162;

struct Found {
    std::string fleet;
    std::int64_t version = 0;
};

Result<Found> find_state(Connection& database, std::string_view fleet) {
    if (auto locked = database.run("SELECT pg_advisory_xact_lock($1)", kMigrationLock); !locked)
        return fail(std::move(locked.error()));
    auto there = database.query("SELECT to_regclass('fleet_state') IS NOT NULL");
    if (!there) return fail(std::move(there.error()));
    if (!(*there)[0].boolean(0)) {
        auto made = database.execute(
            "CREATE TABLE fleet_state (one bool PRIMARY KEY DEFAULT true CHECK (one), fleet text "
            "NOT NULL, version int NOT NULL)");
        if (!made) return fail(std::move(made.error()));
        auto named = database.run("INSERT INTO fleet_state (fleet, version) VALUES ($1, 0)", fleet);
        if (!named) return fail(std::move(named.error()));
    }
    auto rows = database.query("SELECT fleet, version FROM fleet_state");
    if (!rows) return fail(std::move(rows.error()));
    if (rows->count() != 1)
        return fail(ErrorCode::kInternal, "database: the table fleet_state has no row");
    return Found{.fleet = (*rows)[0].text(0), .version = (*rows)[0].integer(1)};
}

}  // namespace

Result<void> migrate(Connection& database, std::string_view fleet,
                     std::span<const std::string_view> steps) {
    const auto newest = static_cast<std::int64_t>(steps.size());
    return database.transaction([&]() -> Result<void> {
        const auto found = find_state(database, fleet);
        if (!found) return fail(found.error());
        if (found->fleet != fleet)
            return fail(ErrorCode::kConflict,
                        fmt::format("the database is that of the fleet {}, not of {}: check "
                                    "fleet.name and the address of the database",
                                    found->fleet, fleet));
        if (found->version > newest)
            return fail(ErrorCode::kInternal,
                        fmt::format("the database has schema {}, this program knows {}: use the "
                                    "newer program",
                                    found->version, newest));
        if (found->version == newest) return {};
        for (auto i = static_cast<std::size_t>(found->version); i < steps.size(); ++i)
            if (auto done = database.execute(std::string(steps[i])); !done) return done;
        log::info("database schema changed", {{"from", found->version}, {"to", newest}});
        return database.run("UPDATE fleet_state SET version = $1", newest);
    });
}

}  // namespace crab::store::postgres
