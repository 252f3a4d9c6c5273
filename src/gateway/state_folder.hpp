#pragma once

#include "base/descriptor.hpp"
#include "gateway/component.hpp"
#include "gateway/gateway_context.hpp"

namespace crab::gateway {

/// The gateway's state folder, locked by this process: two gateways on one folder would each treat
/// the other's running calls as lost.
class StateFolder final : public Component {
public:
    explicit StateFolder(const GatewayContext& context) : context_(context) {}

    std::string_view name() const override { return "state folder"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of lock_folder().
    Result<void> start() override;
    void stop(Deadline deadline) override;

private:
    const GatewayContext& context_;
    Descriptor lock_;
};

}  // namespace crab::gateway
