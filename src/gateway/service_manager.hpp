#pragma once

namespace crab::gateway {

/// Reports the state of this process to systemd if NOTIFY_SOCKET is set; see sd_notify(3).
enum class ServiceState : unsigned char { kReady, kReloading, kStopping };
void tell_service_manager(ServiceState state);

}  // namespace crab::gateway
