#include "load/modes.hpp"

#include "load/device.hpp"
#include "load/payload.hpp"

#include <cstdio>
#include <memory>
#include <vector>

namespace crab::bench {

void run_devices(Options options) {
    const Address gateway = parse_address(options.text("device"));
    const std::string token = options.text("token");
    const std::size_t count = options.count("devices", 1);
    options.refuse_others();
    Loop loop;
    std::vector<std::unique_ptr<Device>> devices;
    for (std::size_t i = 0; i < count; ++i) {
        devices.push_back(std::make_unique<Device>(
            loop,
            Device::Options{.gateway = gateway, .token = token, .tool = tool_name(i, count)}));
    }
    std::puts("devices ready");
    std::fflush(stdout);
    while (true) loop.turn(Clock::now() + std::chrono::hours(1));
}

}  // namespace crab::bench
