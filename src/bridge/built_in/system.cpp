#include "bridge/built_in/adapter_list.hpp"
#include "bridge/built_in/json_members.hpp"
#include "sdk/machine/machine_facts.hpp"

namespace crab::bridge {
namespace {

using json::Value;

constexpr const char* kHostname = "org.freedesktop.hostname1";

/// What the kernel says, and what hostnamed adds where it runs. Source:
/// org.freedesktop.hostname1(5).
class System final : public Adapter {
public:
    explicit System(const Sources& sources)
        : clock_(sources.loop.clock()), system_(sources.bus(BusKind::kSystem)) {}

    Task<Result<void>> check(Deadline) override { co_return Result<void>(); }

    Task<Result<Value>> run(const std::string&, const Value&, Deadline deadline) override {
        const Deadline soon = std::min(deadline, clock_.steady_now() + std::chrono::seconds(2));
        const auto hostname =
            co_await system_.properties(kHostname, "/org/freedesktop/hostname1", kHostname, soon);
        auto info = Value::parse(sdk::MachineFacts().device_info());
        if (info && hostname) {
            pick(*info, *hostname,
                 {{"PrettyHostname", "pretty_hostname"},
                  {"Chassis", "chassis"},
                  {"Deployment", "deployment"},
                  {"Location", "location"},
                  {"HardwareVendor", "vendor"},
                  {"HardwareModel", "model"},
                  {"OperatingSystemPrettyName", "os"}});
        }
        co_return info;
    }

private:
    const Clock& clock_;
    BusLink& system_;
};

}  // namespace

AdapterInfo system_adapter() {
    return {.label = "system",
            .name = "System",
            .reads = kHostname,
            .on = true,
            .tools = {{"info",
                       "Name, model, operating system, kernel, memory and uptime of this machine",
                       std::string(kNoArgs)}},
            .make = [](const Sources& sources) -> std::unique_ptr<Adapter> {
                return std::make_unique<System>(sources);
            }};
}

}  // namespace crab::bridge
