#pragma once

#include "config/gateway_config.hpp"

#include <cstdint>
#include <string_view>

namespace crab::gateway {

/// When a changed key counts.
enum class KeyEffect : std::uint8_t {
    kReload,   ///< as soon as a reload has read it
    kRestart,  ///< with the next start; a running gateway keeps its own
};

/// A key of the configuration, with all below it, as the component that reads it declares it.
struct ConfigKey {
    std::string_view name;  ///< as the file has it: `listen.tls`
    KeyEffect effect;
    bool (*differs)(const config::GatewayConfig&, const config::GatewayConfig&);
};

/// `Get` is a lambda without captures: what the key has become in a configuration.
template <class Get>
constexpr ConfigKey config_key(std::string_view name, KeyEffect effect, Get) {
    return {.name = name,
            .effect = effect,
            .differs = [](const config::GatewayConfig& one, const config::GatewayConfig& other) {
                return !(Get{}(one) == Get{}(other));
            }};
}

template <class Get>
constexpr ConfigKey reload_key(std::string_view name, Get get) {
    return config_key(name, KeyEffect::kReload, get);
}

template <class Get>
constexpr ConfigKey restart_key(std::string_view name, Get get) {
    return config_key(name, KeyEffect::kRestart, get);
}

}  // namespace crab::gateway
