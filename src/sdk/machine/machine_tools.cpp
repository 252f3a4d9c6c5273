#include "sdk/machine/machine_tools.hpp"

#include <algorithm>

namespace crab::sdk {
namespace {

constexpr const char* kNoArguments = R"({"type":"object","additionalProperties":false})";

constexpr const char* kDeviceInfo =
    R"({"type":"object","required":["hostname","os","kernel","architecture","cpus","memory",)"
    R"("uptime_seconds"],
  "properties":{"hostname":{"type":"string"},"os":{"type":"string"},"kernel":{"type":"string"},)"
    R"("architecture":{"type":"string"},
    "cpus":{"type":"integer"},"uptime_seconds":{"type":"integer"},
    "memory":{"type":"object","properties":{"total_bytes":{"type":"integer"},)"
    R"("available_bytes":{"type":"integer"}}}}})";

constexpr const char* kBattery =
    R"({"type":"object","required":["batteries"],"properties":{"batteries":{"type":"array",)"
    R"("items":{"type":"object",
  "required":["name"],"properties":{"name":{"type":"string"},"percent":{"type":"integer",)"
    R"("minimum":0,"maximum":100},"status":{"type":"string"}}}}}})";

constexpr const char* kDiskArguments =
    R"({"type":"object","additionalProperties":false,"properties":{
  "path":{"type":"string","pattern":"^/","default":"/",)"
    R"("description":"Any absolute path on the file system in question"}}})";
constexpr const char* kDisk =
    R"({"type":"object","required":["path","total_bytes","used_bytes","available_bytes",)"
    R"("used_percent"],"properties":{
  "path":{"type":"string"},"total_bytes":{"type":"integer"},"used_bytes":{"type":"integer"},)"
    R"("available_bytes":{"type":"integer"},
  "used_percent":{"type":"integer","minimum":0,"maximum":100}}})";

constexpr const char* kNetwork =
    R"({"type":"object","required":["interfaces"],"properties":{"interfaces":{"type":"array",)"
    R"("items":{"type":"object",
  "required":["name","up","loopback","addresses"],"properties":{"name":{"type":"string"},)"
    R"("up":{"type":"boolean"},"loopback":{"type":"boolean"},
    "addresses":{"type":"array","items":{"type":"object","properties":{"family":{"enum":["ipv4",)"
    R"("ipv6"]},"address":{"type":"string"}}}}}}}}})";

constexpr std::int64_t kUsualProcesses = 20;
constexpr std::int64_t kMostProcesses = 500;
constexpr const char* kProcessArguments =
    R"({"type":"object","additionalProperties":false,"properties":{
  "limit":{"type":"integer","minimum":1,"maximum":500,"default":20},
  "name":{"type":"string","description":"Only processes whose name contains this"}}})";
constexpr const char* kProcesses =
    R"({"type":"object","required":["total","processes"],"properties":{"total":{"type":"integer"},
  "processes":{"type":"array","items":{"type":"object","required":["pid","name","state",)"
    R"("memory_bytes"],"properties":{
    "pid":{"type":"integer"},"name":{"type":"string"},"state":{"type":"string"},)"
    R"("memory_bytes":{"type":"integer"}}}}}})";

ToolTraits facts_only(const char* output_schema) {
    return {.read_only = true,
            .destructive = false,
            .idempotent = true,
            .open_world = false,
            .output_schema = output_schema};
}

}  // namespace

void add_machine_tools(Device& device, const MachineRoots& roots) {
    const MachineFacts facts(roots);
    device.tool(
        "device_info",
        "Host name, operating system, kernel, processors, memory and uptime of this machine",
        kNoArguments, [facts](const ToolRequest&) { return ToolAnswer::json(facts.device_info()); },
        facts_only(kDeviceInfo));
    if (facts.has_battery()) {
        device.tool(
            "battery", "Charge and state of this machine's batteries", kNoArguments,
            [facts](const ToolRequest&) { return ToolAnswer::json(facts.battery()); },
            facts_only(kBattery));
    }
    device.tool(
        "disk_usage", "Total, used and free space of one of this machine's file systems",
        kDiskArguments,
        [facts](const ToolRequest& request) {
            const auto usage = facts.disk_usage(request.text("path").value_or("/"));
            return usage ? ToolAnswer::json(*usage)
                         : ToolAnswer::error(token_of(usage.error().code), usage.error().message);
        },
        facts_only(kDisk));
    device.tool(
        "network_interfaces", "Network interfaces of this machine with their addresses",
        kNoArguments,
        [facts](const ToolRequest&) { return ToolAnswer::json(facts.network_interfaces()); },
        facts_only(kNetwork));
    device.tool(
        "processes", "Processes on this machine, the largest in memory first", kProcessArguments,
        [facts](const ToolRequest& request) {
            const std::int64_t limit = std::clamp<std::int64_t>(
                request.integer("limit").value_or(kUsualProcesses), 1, kMostProcesses);
            return ToolAnswer::json(facts.processes(request.text("name").value_or(""),
                                                    static_cast<std::size_t>(limit)));
        },
        facts_only(kProcesses));
}

}  // namespace crab::sdk
