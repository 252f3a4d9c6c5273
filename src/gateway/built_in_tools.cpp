#include "gateway/built_in_tools.hpp"

#include "core/audit/metrics.hpp"
#include "core/call/function_host.hpp"
#include "json/writer.hpp"

#include <array>
#include <set>
#include <stdexcept>

namespace crab::gateway {
namespace {

constexpr std::string_view kListDevices = "list_devices";

}  // namespace

std::vector<trust::DeviceRecord> devices_that_may_connect(const trust::Tokens& tokens,
                                                          SystemTime now) {
    std::set<std::string> welcome;
    for (const auto& token : tokens.list()) {
        if (token.roles.has(core::Role::kDevice) && token.is_live(now))
            welcome.insert(token.device);
    }
    auto devices = tokens.devices();
    std::erase_if(devices, [&](const auto& device) { return !welcome.contains(device.slug); });
    return devices;
}

void register_built_in_tools(core::Registry& registry, KnownDevices known) {
    core::ToolSpec spec;
    spec.name = kListDevices;
    spec.title = "List devices";
    spec.description =
        "The devices of this gateway: those that are connected now, with the number of tools each "
        "offers and what it says about battery (0 to 1), network and whether somebody uses it, and "
        "those that are away, with when they were last seen.";
    spec.input_schema = R"({"type":"object","additionalProperties":false})";
    spec.output_schema =
        R"({"type":"object","properties":{"devices":{"type":"array","items":{"type":"object",)"
        R"("properties":{"device":{"type":"string"},"name":{"type":"string"},)"
        R"("connected":{"type":"boolean"},"tools":{"type":"integer"},)"
        R"("connected_at":{"type":"string"},"last_seen_at":{"type":"string"},)"
        R"("battery":{"type":"number"},"charging":{"type":"boolean"},"metered":{"type":"boolean"},)"
        R"("foreground":{"type":"boolean"},"presence_at":{"type":"string"}},"required":["device",)"
        R"("connected","tools"]}}},"required":["devices"]})";
    spec.idempotent = true;
    spec.effects_known = true;
    spec.annotations = {.read_only = true,
                        .destructive = false,
                        .idempotent = true,
                        .open_world = false,
                        .trusted = true};
    auto tool = core::make_tool(std::move(spec));
    if (!tool) throw std::logic_error("a built-in tool is not valid: " + tool.error().message);
    (*tool)->host = std::make_shared<core::FunctionHost>(
        [known = std::move(known)](std::string_view, const core::Principal&) -> core::Outcome {
            core::ToolResult result{.kind = core::ContentKind::kJson,
                                    .content = {},
                                    .content_type = {},
                                    .logs = {},
                                    .usage = {}};
            json::Writer writer(result.content);
            writer.begin_object().key("devices").begin_array();
            std::set<std::string> here;
            for (const auto& device : known.connected()) {
                if (device.slug.empty()) continue;  // it has registered nothing
                here.insert(device.slug);
                writer.begin_object().key("device").string(device.slug);
                if (!device.display_name.empty())
                    writer.key("name").string_lossy(device.display_name);
                writer.key("connected")
                    .boolean(true)
                    .key("tools")
                    .unsigned_integer(device.tools)
                    .key("connected_at")
                    .string(to_rfc3339(device.since));
                if (device.presence.battery) writer.key("battery").number(*device.presence.battery);
                if (device.presence.charging)
                    writer.key("charging").boolean(*device.presence.charging);
                if (device.presence.metered)
                    writer.key("metered").boolean(*device.presence.metered);
                if (device.presence.foreground)
                    writer.key("foreground").boolean(*device.presence.foreground);
                if (device.presence_at)
                    writer.key("presence_at").string(to_rfc3339(*device.presence_at));
                writer.end_object();
            }
            for (const auto& device : known.paired()) {
                if (here.contains(device.slug)) continue;
                writer.begin_object().key("device").string(device.slug);
                if (!device.display_name.empty())
                    writer.key("name").string_lossy(device.display_name);
                writer.key("connected").boolean(false).key("tools").integer(0);
                if (device.last_seen_at)
                    writer.key("last_seen_at").string(to_rfc3339(*device.last_seen_at));
                writer.end_object();
            }
            writer.end_array().end_object();
            return result;
        });
    registry.reserve(kListDevices);
    const std::array<core::ToolRef, 1> tools{std::move(*tool)};
    registry.change(ConnectionId{}, tools, {});
}

}  // namespace crab::gateway
