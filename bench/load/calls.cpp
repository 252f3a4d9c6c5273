#include "load/modes.hpp"

#include "load/device.hpp"
#include "load/driver.hpp"
#include "load/http_backend.hpp"
#include "load/http_callers.hpp"
#include "load/nats.hpp"
#include "load/payload.hpp"

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

namespace crab::bench {
namespace {

std::vector<std::string> names_of_tools(const std::string& tool, std::size_t devices) {
    if (!tool.empty()) return {tool};
    if (devices == 0) return {"echo"};
    std::vector<std::string> names;
    for (std::size_t i = 0; i < devices; ++i) names.push_back(tool_name(i, devices));
    return names;
}

}  // namespace

void run_calls(Options options) {
    const std::string target = options.text("target", "http");
    const Address server = parse_address(options.text("connect"));
    const std::string device_at = options.text("device");
    const std::size_t device_count = device_at.empty() ? 0 : options.count("devices", 1);
    const std::size_t backend = options.count("backend-fd", 0);
    const std::string token = options.text("token");
    const std::string get = options.text("get");
    const std::string tool = options.text("tool");
    McpCall mcp{.path = options.text("path", "/mcp"),
                .version = options.text("version", "2026-07-28"),
                .session = options.text("session"),
                .tool = {}};
    const Driver::Options pace{
        .lanes = options.count("in-flight", 1),
        .rate = options.number("rate", 0),
        .warm_up = std::chrono::duration<double>(options.number("warm-up", 0.3)),
        .measure = std::chrono::duration<double>(options.number("seconds", 1)),
        .server = static_cast<pid_t>(options.count("server-pid", 0)),
    };
    options.refuse_others();

    Loop loop;
    Driver driver(pace);
    std::vector<std::unique_ptr<Device>> devices;
    for (std::size_t i = 0; i < device_count; ++i) {
        devices.push_back(
            std::make_unique<Device>(loop, Device::Options{.gateway = parse_address(device_at),
                                                           .token = token,
                                                           .tool = tool_name(i, device_count)}));
    }
    const auto echo =
        backend != 0 ? std::make_unique<HttpBackend>(loop, static_cast<int>(backend)) : nullptr;
    std::unique_ptr<Transport> transport;
    if (target == "http" || target == "mcp") {
        // the Unix socket knows its caller by uid
        const std::string call_token = server.path.empty() ? token : "";
        std::vector<CallRequest> requests;
        if (!get.empty()) {
            requests.push_back(CallRequest::get(server, call_token, get));
        } else {
            for (const std::string& name : names_of_tools(tool, device_count)) {
                mcp.tool = name;
                if (target == "mcp")
                    requests.emplace_back(server, call_token, mcp, kArguments);
                else
                    requests.emplace_back(server, call_token, name, kArguments);
            }
        }
        transport =
            std::make_unique<HttpCallers>(loop, server, pace.lanes, std::move(requests), driver);
    } else if (target == "nats" || target == "nats-mux") {
        transport =
            std::make_unique<NatsCallers>(loop, server, target == "nats" ? pace.lanes : 1, driver);
    } else {
        throw std::invalid_argument("--target is http, mcp, nats or nats-mux, not " + target);
    }
    driver.run(loop, *transport);
    std::puts(driver.report().c_str());
}

}  // namespace crab::bench
