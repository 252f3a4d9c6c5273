#include "gateway/log_settings.hpp"

#include "base/log.hpp"

namespace crab::gateway {

std::span<const ConfigKey> LogSettings::keys() const {
    static constexpr ConfigKey kKeys[] = {
        reload_key("gateway.log", [](auto& c) -> auto& { return c.gateway.log; })};
    return kKeys;
}

Result<void> LogSettings::start() {
    const config::LogOptions& options = context_.config.gateway.log;
    log::configure(options.level, options.format);
    return {};
}

Result<Component::Change> LogSettings::prepare(const config::GatewayConfig& next) {
    return [options = next.gateway.log] { log::configure(options.level, options.format); };
}

}  // namespace crab::gateway
