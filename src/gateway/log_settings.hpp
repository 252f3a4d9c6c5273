#pragma once

#include "gateway/gateway_context.hpp"

namespace crab::gateway {

/// The level and format of the log.
class LogSettings final : public Component {
public:
    explicit LogSettings(const GatewayContext& context) : context_(context) {}

    std::string_view name() const override { return "log"; }
    std::span<const ConfigKey> keys() const override;
    Result<void> start() override;
    Result<Change> prepare(const config::GatewayConfig& next) override;

private:
    const GatewayContext& context_;
};

}  // namespace crab::gateway
