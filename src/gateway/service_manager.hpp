#pragma once

namespace crab::gateway {

/// Tells systemd, when it asked to be told (NOTIFY_SOCKET), how this process stands; see
/// sd_notify(3). Otherwise nothing happens.
enum class ServiceState : unsigned char { kReady, kReloading, kStopping };
void tell_service_manager(ServiceState state);

}  // namespace crab::gateway
