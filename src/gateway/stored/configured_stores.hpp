#pragma once

#include "gateway/context/gateway_context.hpp"
#include "gateway/stored/fleet_membership.hpp"
#include "store/stores.hpp"

#include <memory>

namespace crab::gateway {

/// Opens the stores of the engine that the configuration names: files in the state folder, with
/// `fleet` the database, with `fleet.nats` some of each. Then this process is a node from here on.
class ConfiguredStores final : public Component {
public:
    /// `stores` is set by start(), and outlives what opens them; so does `membership`.
    ConfiguredStores(const GatewayContext& context, std::unique_ptr<store::Stores>& stores,
                     FleetMembership& membership)
        : context_(context), stores_(stores), membership_(membership) {}

    std::string_view name() const override { return "stores"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of StoresPostgres::open(); kConflict when files of the state folder would not
    /// be read any more; kInvalidArgs without its address, or when this
    /// program was built without PostgreSQL.
    Result<void> start() override;
    void stop(Deadline deadline) override;

private:
    const GatewayContext& context_;
    std::unique_ptr<store::Stores>& stores_;
    FleetMembership& membership_;
};

}  // namespace crab::gateway
