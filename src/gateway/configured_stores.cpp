#include "gateway/configured_stores.hpp"

#include "base/process/file.hpp"
#include "store/sqlite/stores_sqlite.hpp"
#ifdef CRAB_POSTGRES
#include "store/postgres/stores_postgres.hpp"
#endif

#include <string>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

using OpenedStores = Result<std::unique_ptr<store::Stores>>;

#ifdef CRAB_POSTGRES
OpenedStores open_database(const config::FleetOptions& fleet, const std::string& node_name) {
    constexpr std::size_t kMostDsnBytes = 4096;
    auto dsn = read_file(fleet.dsn_file, kMostDsnBytes);
    if (!dsn)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("fleet.postgres.dsn_file: {}", dsn.error().message));
    dsn->erase(dsn->find_last_not_of(" \t\r\n") + 1);
    auto opened = store::postgres::StoresPostgres::open({.database = {.dsn = std::move(*dsn)},
                                                         .fleet = fleet.name,
                                                         .node = 1,
                                                         .node_name = node_name,
                                                         .is_alone = true,
                                                         .require_sync = fleet.require_sync});
    if (!opened) return fail(std::move(opened.error()));
    return std::unique_ptr<store::Stores>(std::move(*opened));
}
#else
OpenedStores open_database(const config::FleetOptions&, const std::string&) {
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
    auto opened = open_database(*config.fleet, config.gateway.name);
    if (!opened) return fail(std::move(opened.error()));
    stores_ = std::move(*opened);
    return {};
}

}  // namespace crab::gateway
