#include "gateway/devices/built_in_tools.hpp"

#include "core/audit/metrics.hpp"
#include "core/call/function_host.hpp"
#include "json/writer.hpp"

#include <array>
#include <set>
#include <stdexcept>

namespace crab::gateway {
namespace {

constexpr std::string_view kListDevices = "list_devices";

core::ToolSpec list_devices_spec() {
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
    return spec;
}

void append_connected(json::Writer& writer, const clawseed::ConnectedDevice& device) {
    writer.begin_object().key("device").string(device.slug);
    if (!device.display_name.empty()) writer.key("name").string_lossy(device.display_name);
    writer.key("connected").boolean(true).key("tools").unsigned_integer(device.tools);
    writer.key("connected_at").string(to_rfc3339(device.since));
    const auto& presence = device.presence;
    if (presence.battery) writer.key("battery").number(*presence.battery);
    if (presence.charging) writer.key("charging").boolean(*presence.charging);
    if (presence.metered) writer.key("metered").boolean(*presence.metered);
    if (presence.foreground) writer.key("foreground").boolean(*presence.foreground);
    if (device.presence_at) writer.key("presence_at").string(to_rfc3339(*device.presence_at));
    writer.end_object();
}

void append_away(json::Writer& writer, const trust::DeviceRecord& device) {
    writer.begin_object().key("device").string(device.slug);
    if (!device.display_name.empty()) writer.key("name").string_lossy(device.display_name);
    writer.key("connected").boolean(false).key("tools").integer(0);
    if (device.last_seen_at) writer.key("last_seen_at").string(to_rfc3339(*device.last_seen_at));
    writer.end_object();
}

core::ToolResult list_devices(const KnownDevices& known) {
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
        append_connected(writer, device);
    }
    for (const auto& device : known.paired()) {
        if (!here.contains(device.slug)) append_away(writer, device);
    }
    writer.end_array().end_object();
    return result;
}

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
    auto tool = core::make_tool(list_devices_spec());
    if (!tool) throw std::logic_error("a built-in tool is not valid: " + tool.error().message);
    (*tool)->host = std::make_shared<core::FunctionHost>(
        [known = std::move(known)](std::string_view, const core::Principal&) -> core::Outcome {
            return list_devices(known);
        });
    registry.reserve(kListDevices);
    const std::array<core::ToolRef, 1> tools{std::move(*tool)};
    registry.change(ConnectionId{}, tools, {});
}

}  // namespace crab::gateway
