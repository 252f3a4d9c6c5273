#pragma once

#include "base/clock.hpp"

#include <optional>

namespace crab::gateway {

/// Reports the state of this process to systemd if NOTIFY_SOCKET is set; see sd_notify(3).
enum class ServiceState : unsigned char { kReady, kReloading, kStopping };
void tell_service_manager(ServiceState state);

/// How often it wants to be told that this process is alive (WATCHDOG_USEC); nothing: never.
std::optional<Milliseconds> watchdog_interval();
/// Says that this process is alive.
void feed_watchdog();

}  // namespace crab::gateway
