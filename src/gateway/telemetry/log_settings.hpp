#pragma once

#include "base/log.hpp"
#include "gateway/context/gateway_context.hpp"

#include <mutex>
#include <optional>

namespace crab::gateway {

/// The levels and format of the log, from the configuration and, until a reload or the end, as an
/// operator has set them: `GET` and `PATCH /v1/admin/log`.
class LogSettings final : public Component {
public:
    explicit LogSettings(const GatewayContext& context) : context_(context) {}

    std::string_view name() const override { return "log"; }
    std::span<const ConfigKey> keys() const override;
    Result<void> start() override;
    Result<Change> prepare(const config::GatewayConfig& next) override;
    void add_routes(const ListenerRoutes& table) override;

private:
    void take(const config::LogOptions& options);
    void apply() const;  ///< with the lock
    void show(net::HttpExchange& exchange) const;
    void change(net::HttpExchange& exchange);
    std::string told() const;

    const GatewayContext& context_;
    mutable std::mutex mutex_;
    config::LogOptions configured_;
    std::optional<log::Level> general_;  ///< set meanwhile, as what follows
    log::PartLevels parts_;
};

}  // namespace crab::gateway
