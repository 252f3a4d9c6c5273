#include "gateway/service_manager.hpp"

#include <chrono>
#include <cstdint>

#include <systemd/sd-daemon.h>

#include <fmt/format.h>

namespace crab::gateway {

void tell_service_manager(ServiceState state) {
    switch (state) {
        case ServiceState::kReady: ::sd_notify(0, "READY=1"); return;
        case ServiceState::kReloading: {
            // Type=notify-reload tells this reload from an earlier one by its time.
            const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
                std::chrono::steady_clock::now().time_since_epoch());
            ::sd_notify(0, fmt::format("RELOADING=1\nMONOTONIC_USEC={}", now.count()).c_str());
            return;
        }
        case ServiceState::kStopping: ::sd_notify(0, "STOPPING=1"); return;
    }
}

std::optional<Milliseconds> watchdog_interval() {
    std::uint64_t microseconds = 0;
    if (::sd_watchdog_enabled(0, &microseconds) <= 0) return {};
    return Milliseconds(microseconds / 1000);
}

void feed_watchdog() { ::sd_notify(0, "WATCHDOG=1"); }

}  // namespace crab::gateway
