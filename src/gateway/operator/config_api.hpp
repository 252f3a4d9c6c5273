#pragma once

#include "base/clock.hpp"
#include "config/effective_values.hpp"
#include "config/gateway_config.hpp"
#include "gateway/context/gateway_context.hpp"
#include "runtime/workers.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace crab::gateway {

/// A configuration and when it was read.
struct LoadedConfig {
    config::GatewayConfig config;
    SystemTime at;
};

/// The configuration for operators, on the admin socket: `GET /v1/admin/config`, the keys with
/// their values, defaults and lines; `POST /v1/admin/config/check`, what is wrong with the file on
/// disk and what a reload of it would change. Nobody changes it here, and no secret is shown.
class ConfigApi final : public Component {
public:
    struct Uses {
        Workers& workers;
        std::function<LoadedConfig()> loaded;  ///< by the latest reload; blocks while one runs
        std::function<Result<config::GatewayConfig>()> read;  ///< the file on disk; blocks
        std::function<std::vector<ConfigKey>()> keys;  ///< of all components
    };
    explicit ConfigApi(Uses uses) : uses_(std::move(uses)) {}

    std::string_view name() const override { return "configuration API"; }
    Result<void> start() override;
    void add_routes(const ListenerRoutes& table) override;

private:
    struct Checked;

    Task<void> show(net::HttpExchange& exchange);
    Task<void> check(net::HttpExchange& exchange);
    std::string shown() const;
    std::string checked() const;

    const Uses uses_;
    json::Value schema_;
    std::vector<ConfigKey> keys_;
};

}  // namespace crab::gateway
