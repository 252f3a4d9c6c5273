#include "sdk/machine/presence_watch.hpp"

namespace crab::sdk {

PresenceWatch::PresenceWatch(Device& device, const MachineRoots& roots,
                             std::chrono::milliseconds every) {
    const MachineFacts facts(roots);
    if (!facts.has_battery()) return;
    device.set_presence(facts.presence());
    thread_ = std::jthread([this, &device, facts, every](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (!stopped_.wait_for(lock, stop, every, [&stop] { return stop.stop_requested(); }))
            device.set_presence(facts.presence());
    });
}

}  // namespace crab::sdk
