#include "gateway/stored/configured_stores.hpp"

#include "base/process/file.hpp"
#include "core/ledger/ledger_store.hpp"
#include "gateway/stored/fleet_files.hpp"
#include "gateway/stored/fleet_stores.hpp"
#include "hosting/cron_sinks.hpp"
#include "store/sqlite/stores_sqlite.hpp"
#ifdef CRAB_POSTGRES
#include "store/postgres/stores_postgres.hpp"
#endif

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

using OpenedStores = Result<std::unique_ptr<store::Stores>>;

/// What nodes of a fleet have in its database.
constexpr std::string_view kFilesOfFleet[] = {"ledger.db", "memory.db", "events.db",
                                              "agents.db", "cron.db",   "sessions.db"};

/// What the gateway has kept in files that it would not read any more. Of a node's, those that are
/// not the fleet's stay in use.
Result<void> expect_nothing_shadowed(const std::filesystem::path& state_dir, bool is_node) {
    std::string found;
    for (const std::string& name : store::sqlite::StoresSqlite::files_in(state_dir)) {
        const bool is_fleets =
            std::ranges::find(kFilesOfFleet, name) != std::ranges::end(kFilesOfFleet);
        if (!is_node || is_fleets) found += (found.empty() ? "" : ", ") + name;
    }
    if (found.empty()) return {};
    return fail(ErrorCode::kConflict,
                fmt::format("fleet: the state folder {} has {} of this gateway as it was without "
                            "that section: nothing of it is moved into the database. Move the "
                            "files away to begin without what is in them, its tokens too, or take "
                            "the section out",
                            state_dir.string(), found));
}

/// In the state folder: of which fleet and node it is.
constexpr std::string_view kNodeFile = "fleet_node";

std::string node_line(const config::FleetOptions& fleet) {
    return fmt::format("{} of {}\n", fleet.node_name, fleet.name);
}

/// A copy of another node's folder would go on with that one's audit log, events and chats.
Result<void> expect_own_folder(const std::filesystem::path& state_dir,
                               const config::FleetOptions& fleet) {
    constexpr std::size_t kMost = 4096;
    const std::filesystem::path file = state_dir / kNodeFile;
    if (!std::filesystem::exists(file)) return {};
    const auto line = read_file(file, kMost);
    if (!line) return fail(line.error());
    if (*line == node_line(fleet)) return {};
    return fail(ErrorCode::kConflict,
                fmt::format("fleet: the state folder {} is that of the node {}, not of {}: give "
                            "this node a folder of its own, or remove {} from it if the node has "
                            "been renamed",
                            state_dir.string(), line->substr(0, line->find('\n')), fleet.node_name,
                            kNodeFile));
}

#ifdef CRAB_POSTGRES
using store::postgres::NodeClaim;
using store::postgres::StoresPostgres;

NodeClaim claim_of(fleet::NodeName name) {
    return {.number = static_cast<std::int16_t>(name.number),
            .incarnation = static_cast<std::int32_t>(name.incarnation)};
}
fleet::NodeName node_of(NodeClaim claim) {
    return {.number = static_cast<std::uint16_t>(claim.number),
            .incarnation = static_cast<std::uint32_t>(claim.incarnation)};
}

/// The keys of the fleet's file.
Result<bus::FleetKeys> read_keys(const config::FleetOptions& fleet) {
    constexpr std::size_t kMostKeyBytes = 16'384;
    const auto text = read_fleet_file(fleet.key_file, "fleet.key_file", kMostKeyBytes);
    if (!text) return fail(text.error());
    auto keys = bus::FleetKeys::parse(*text, fleet.name);
    if (!keys)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("fleet.key_file: {}", keys.error().message));
    return keys;
}

/// The database is the fleet's, and this process a node of it.
OpenedStores join(std::unique_ptr<StoresPostgres> database, const GatewayContext& context,
                  FleetMembership& membership) {
    constexpr std::chrono::seconds kPatience{5};  // a lease that is fenced off begins again
    StoresPostgres& shared = *database;
    if (auto begun = membership.begin({.nodes = database->open_nodes(),
                                       .links = database->open_links(),
                                       .changes = database->open_changes(),
                                       .trust = database->open_shared_trust(),
                                       .number = static_cast<std::uint16_t>(database->node()),
                                       .agree_on_keys =
                                           [&shared](const std::vector<std::string>& names) {
                                               return shared.agree_on_keys(names);
                                           }});
        !begun)
        return fail(std::move(begun.error()));
    shared.share_work(membership.boot(), hosting::cron_event_of);
    const store::postgres::NodeRights rights{
        .self = [&membership] { return claim_of(membership.self()); },
        .is_silent =
            [&membership](NodeClaim other) { return membership.is_silent(node_of(other)); },
        .patience = kPatience};
    return std::make_unique<FleetStores>(
        std::move(database), std::make_unique<store::sqlite::StoresSqlite>(context.paths.state_dir),
        [&shared, rights] { return shared.open_ledger_of(rights); });
}

OpenedStores open_database(const config::FleetOptions& fleet, const GatewayContext& context,
                           FleetMembership& membership) {
    constexpr std::size_t kMostDsnBytes = 4096;
    auto dsn = read_fleet_file(fleet.dsn_file, "fleet.postgres.dsn_file", kMostDsnBytes);
    if (!dsn) return fail(std::move(dsn.error()));
    dsn->erase(dsn->find_last_not_of(" \t\r\n") + 1);
    const bool is_node = fleet.nats.has_value();
    if (is_node) {
        auto keys = read_keys(fleet);
        if (!keys) return fail(std::move(keys.error()));
        membership.take_keys(std::move(*keys));
    }
    auto opened = StoresPostgres::open(
        {.database = {.dsn = std::move(*dsn)},
         .fleet = fleet.name,
         .node = 1,
         .node_name = is_node ? fleet.node_name : context.config.gateway.name,
         .is_alone = !is_node,
         .is_node = is_node,
         .self = is_node ? [&membership] { return claim_of(membership.self()); }
                         : std::function<NodeClaim()>(),
         .trust_changed = [&membership] { membership.trust_changed(); },
         .require_sync = fleet.require_sync});
    if (!opened) return fail(std::move(opened.error()));
    if (is_node) return join(std::move(*opened), context, membership);
    return std::unique_ptr<store::Stores>(std::move(*opened));
}
#else
OpenedStores open_database(const config::FleetOptions&, const GatewayContext&, FleetMembership&) {
    return fail(ErrorCode::kInvalidArgs,
                "fleet: this crab was built without PostgreSQL; build it with libpq, or remove the "
                "section");
}
#endif

}  // namespace

std::span<const ConfigKey> ConfiguredStores::keys() const {
    static constexpr ConfigKey kKeys[] = {
        restart_key("fleet", [](auto& c) -> auto& { return c.fleet; })};
    return kKeys;
}

Result<void> ConfiguredStores::start() {
    const config::GatewayConfig& config = context_.config;
    if (!config.fleet) {
        stores_ = std::make_unique<store::sqlite::StoresSqlite>(context_.paths.state_dir);
        return {};
    }
    const bool is_node = config.fleet->nats.has_value();
    if (auto free = expect_nothing_shadowed(context_.paths.state_dir, is_node); !free) return free;
    const std::filesystem::path& folder = context_.paths.state_dir;
    if (is_node) {
        if (auto own = expect_own_folder(folder, *config.fleet); !own) return own;
    }
    auto opened = open_database(*config.fleet, context_, membership_);
    if (!opened) return fail(std::move(opened.error()));
    stores_ = std::move(*opened);
    if (!is_node) return {};
    return replace_file(folder / kNodeFile, node_line(*config.fleet));
}

// Last of all that writes.
void ConfiguredStores::stop(Deadline) { membership_.leave(); }

}  // namespace crab::gateway
