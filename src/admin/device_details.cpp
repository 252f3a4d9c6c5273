#include "admin/device_details.hpp"

#include "admin/device_list.hpp"
#include "net/codec/http_text.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace crab::admin {
void DeviceDetails::add_routes(net::Routes<core::PrincipalRef>& routes) {
    routes.add({.path = "/v1/admin/devices/{device}",
                .summary = "One device or caller: its connections, tools and credentials",
                .answers = {{200, "device_details"}},
                .refusals = {404}},
               [this](const Request& request) { show(request); });
    routes.add({.method = net::Method::kPatch,
                .path = "/v1/admin/devices/{device}",
                .proof = net::FreshProof::kNever,
                .summary = "Give a device another name; its slug, tools and tokens stay",
                .request = "device_rename",
                .answers = {{200, "device_renamed"}},
                .refusals = {400, 404, 503}},
               [this](const Request& request) { return rename(request); });
    routes.add({.method = net::Method::kDelete,
                .path = "/v1/admin/pairings/{id}",
                .proof = net::FreshProof::kNever,
                .summary = "End a pairing whose code nobody has used",
                .answers = {{200, "pairing_ended"}},
                .refusals = {404, 503}},
               [this](const Request& request) { return end_pairing(request); });
}

void DeviceDetails::show(const Request& request) {
    net::HttpExchange& exchange = request.exchange;
    DeviceList list;
    for (const auto& record : services_.tokens.devices()) list.add_device(record);
    for (const auto& token : services_.tokens.list()) list.add_token(token);
    for (const auto& live : services_.presence()) list.add_live(live);
    list.add_waiting(services_.waiting_tools);
    std::string members;
    json::Writer writer(members);
    writer.begin_object();
    const auto found = list.append_members(writer, request.arguments["device"]);
    if (!found)
        return exchange.respond_error(404, "NOT_FOUND",
                                      "no device or caller has that name; crab devices list shows "
                                      "them");
    append_connections(writer, found->principal);
    append_offered(writer, found->device);
    append_rejected(writer, found->device);
    append_waiting(writer, found->device);
    writer.end_object();
    exchange.respond(200, net::kJsonType, members);
}

void DeviceDetails::append_connections(json::Writer& writer, std::string_view principal) const {
    writer.key("connections").begin_array();
    for (const Presence& live : services_.presence()) {
        if (live.principal != principal) continue;
        writer.begin_object().key("since").string(to_rfc3339(live.since));
        writer.key("name").string_lossy(live.name);
        writer.key("tools").unsigned_integer(live.tools).end_object();
    }
    writer.end_array();
}

void DeviceDetails::append_offered(json::Writer& writer, std::string_view device) const {
    const std::string source = fmt::format("device/{}", device);
    writer.key("tools").begin_array();
    for (const auto& [name, tool] : tools_.list()) {
        if (tool->source_text != source) continue;
        writer.begin_object().key("name").string(tool->spec.name);
        writer.key("qualified_name").string(tool->unique_name);
        if (!tool->spec.title.empty()) writer.key("title").string(tool->spec.title);
        writer.key("effects").string(core::name_of(tool->spec.effects())).end_object();
    }
    writer.end_array();
}

void DeviceDetails::append_rejected(json::Writer& writer, std::string_view device) const {
    writer.key("rejected").begin_array();
    for (const Presence::Refused& refused : services_.refused(device)) {
        if (refused.code == token_of(ErrorCode::kApprovalRequired)) continue;  // those wait
        writer.begin_object().key("name").string_lossy(refused.tool);
        writer.key("code").string(refused.code).key("message").string_lossy(refused.reason);
        writer.key("at").string(to_rfc3339(refused.at)).end_object();
    }
    writer.end_array();
}

void DeviceDetails::append_waiting(json::Writer& writer, std::string_view device) const {
    const auto held = services_.held_tools(device);
    writer.key("waiting").begin_array();
    for (const std::string& name : services_.waiting_tools(device)) {
        writer.begin_object().key("name").string_lossy(name);
        const auto tool = std::ranges::find_if(
            held, [&](const core::ToolRef& each) { return each->spec.name == name; });
        if (tool != held.end()) {
            const core::ToolSpec& spec = (*tool)->spec;
            writer.key("description").string(spec.description);
            writer.key("effects").string(core::name_of(spec.effects()));
            writer.key("schema").raw(spec.input_schema);
            if (!spec.output_schema.empty()) writer.key("output_schema").raw(spec.output_schema);
        }
        if (const auto before = services_.approved_form(device, name))
            writer.key("before").raw(*before);
        writer.end_object();
    }
    writer.end_array();
}

Task<void> DeviceDetails::rename(const Request& request) {
    net::HttpExchange& exchange = request.exchange;
    const auto root = parser_.parse(exchange.request().body);
    const auto name = root ? json::get_string(root->element(), "name") : std::nullopt;
    if (!name) {
        exchange.respond_error(400, "INVALID_ARGS", "the body must be a JSON object with `name`");
        co_return;
    }
    exchange.keep_running_when_caller_leaves();
    auto work = [&tokens = services_.tokens, device = std::string(request.arguments["device"]),
                 name = std::string(*name)] { return tokens.rename(device, name); };
    const auto renamed = co_await services_.pool.run(std::move(work));
    if (!renamed) co_return exchange.respond_error(renamed.error());
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    writer.begin_object().key("device").string_lossy(renamed->slug);
    writer.key("name").string_lossy(renamed->display_name).end_object();
    exchange.finish_response();
}

Task<void> DeviceDetails::end_pairing(const Request& request) {
    net::HttpExchange& exchange = request.exchange;
    auto work = [&codes = services_.codes, id = std::string(request.arguments["id"])] {
        return codes.end(id);
    };
    const auto ended =
        services_.codes.block() ? co_await services_.pool.run(std::move(work)) : work();
    if (!ended) co_return exchange.respond_error(ended.error());
    exchange.respond(200, net::kJsonType, R"({"ended":true})");
}

}  // namespace crab::admin
