// A tool in ten lines: a thermometer that a gateway can read.
#include <crab/device.hpp>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    const char* token = std::getenv("CRAB_TOKEN");
    crab::Device device({.gateway = argc > 1 ? argv[1] : "ws://127.0.0.1:42617",
                         .token = token != nullptr ? token : "",
                         .name = "Kitchen"});
    device.tool("read_thermometer", "Room temperature in Celsius",
                R"({"type":"object","properties":{"room":{"type":"string"}},"required":["room"]})",
                [](const crab::ToolRequest& request) -> crab::ToolAnswer {
                    if (request.text("room") != "kitchen")
                        return crab::ToolAnswer::error("INVALID_ARGS",
                                                       "room: only `kitchen` has a thermometer");
                    return crab::ToolAnswer::json(R"({"celsius":21.5})");
                },
                {.read_only = true, .idempotent = true});
    const crab::DeviceEnd end = device.run();
    std::fprintf(stderr, "%s\n", end.message.c_str());
    return end.good() ? 0 : 1;
}
