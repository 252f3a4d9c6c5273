#pragma once

#include <cstdint>
#include <string_view>

namespace crab::config {
struct GatewayConfig;  // components of a process without one, such as a tool host, need no more
}

namespace crab::runtime {

/// When a changed key takes effect.
enum class KeyEffect : std::uint8_t {
    kReload,   ///< with a reload
    kRestart,  ///< with the next start
};

/// A configuration key, including everything below it, as declared by the component that reads it.
struct ConfigKey {
    std::string_view name;  ///< as in the file: `listen.tls`
    KeyEffect effect;
    bool (*differs)(const config::GatewayConfig&, const config::GatewayConfig&);
    void (*copy)(const config::GatewayConfig& from, config::GatewayConfig& to);
};

/// `Get` is a captureless lambda that returns a reference to the key's value in a configuration,
/// constant or not: `[](auto& c) -> auto& { return c.listen.tls; }`.
template <class Get>
constexpr ConfigKey config_key(std::string_view name, KeyEffect effect, Get) {
    return {
        .name = name,
        .effect = effect,
        .differs = [](const config::GatewayConfig& one,
                      const config::GatewayConfig& other) { return !(Get{}(one) == Get{}(other)); },
        .copy = [](const config::GatewayConfig& from,
                   config::GatewayConfig& to) { Get{}(to) = Get{}(from); }};
}

template <class Get>
constexpr ConfigKey reload_key(std::string_view name, Get get) {
    return config_key(name, KeyEffect::kReload, get);
}

template <class Get>
constexpr ConfigKey restart_key(std::string_view name, Get get) {
    return config_key(name, KeyEffect::kRestart, get);
}

}  // namespace crab::runtime
