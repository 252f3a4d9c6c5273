#pragma once

#include "gateway/gateway_context.hpp"
#include "store/stores.hpp"

#include <memory>

namespace crab::gateway {

/// Opens the stores of the engine that the configuration names: files in the state folder, or with
/// `fleet` the database.
class ConfiguredStores final : public Component {
public:
    /// `stores` is set by start(), and outlives what opens them.
    ConfiguredStores(const GatewayContext& context, std::unique_ptr<store::Stores>& stores)
        : context_(context), stores_(stores) {}

    std::string_view name() const override { return "stores"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of StoresPostgres::open(); kInvalidArgs without its address, or when this
    /// program was built without PostgreSQL.
    Result<void> start() override;

private:
    const GatewayContext& context_;
    std::unique_ptr<store::Stores>& stores_;
};

}  // namespace crab::gateway
