#include "admin/device_list.hpp"

#include "admin/pairing_wire.hpp"

#include <fmt/format.h>

namespace crab::admin {

void DeviceList::add_device(const trust::DeviceRecord& record) {
    Row& row = devices_[fmt::format("device/{}", record.slug)];
    row.device = record.slug;
    row.name = record.display_name;
    row.last_seen = record.last_seen_at;
}

void DeviceList::add_token(const trust::TokenRecord& token) {
    const bool is_caller = token.device.empty();
    Row& row = (is_caller ? callers_ : devices_)[token.principal_id()];
    if (row.device.empty()) row.device = is_caller ? token.name : token.device;
    if (row.name.empty()) row.name = token.name;
    row.tokens.push_back(token);
}

void DeviceList::add_live(const Presence& live) {
    const auto caller = live.device.empty() ? callers_.find(live.principal) : callers_.end();
    Row& row = caller != callers_.end() ? caller->second : devices_[live.principal];
    if (row.device.empty()) row.device = live.device.empty() ? live.principal : live.device;
    if (row.name.empty()) row.name = live.name;
    ++row.connections;
    row.tools += live.tools;
    row.refused.insert(row.refused.end(), live.refused.begin(), live.refused.end());
    row.last_seen = std::chrono::system_clock::now();
    // Of several connections of one device the last that said something counts.
    if (live.battery) row.battery = live.battery;
    if (live.charging) row.charging = live.charging;
    if (live.metered) row.metered = live.metered;
    if (live.foreground) row.foreground = live.foreground;
}

void DeviceList::add_waiting(
    const std::function<std::vector<std::string>(std::string_view device)>& waiting_tools) {
    for (Rows* rows : {&devices_, &callers_}) {
        for (auto& [principal, row] : *rows) row.waiting = waiting_tools(row.device);
    }
}

void DeviceList::write(std::string& out) const {
    json::Writer writer(out);
    writer.begin_object().key("devices").begin_array();
    append_rows(writer, "device", devices_);
    writer.end_array().key("callers").begin_array();
    append_rows(writer, "caller", callers_);
    writer.end_array().end_object();
}

void DeviceList::append_rows(json::Writer& writer, std::string_view key, const Rows& rows) {
    for (const auto& [principal, row] : rows) {
        writer.begin_object();
        append_head(writer, key, row, principal);
        writer.key("connections").unsigned_integer(row.connections);
        writer.key("tools").unsigned_integer(row.tools);
        append_tools(writer, row);
        append_state(writer, row);
        append_tokens(writer, row);
        writer.end_object();
    }
}

std::optional<DeviceList::Found> DeviceList::append_members(json::Writer& writer,
                                                            std::string_view name) const {
    for (const auto& [key, rows] : {std::pair{"device", &devices_}, {"caller", &callers_}}) {
        for (const auto& [principal, row] : *rows) {
            if (row.device != name && principal != name) continue;
            append_head(writer, key, row, principal);
            append_tools(writer, row);
            append_state(writer, row);
            append_tokens(writer, row);
            return Found{.device = row.device, .principal = principal};
        }
    }
    return std::nullopt;
}

void DeviceList::append_head(json::Writer& writer, std::string_view key, const Row& row,
                             const std::string& principal) {
    writer.key(key).string_lossy(row.device).key("name").string_lossy(row.name);
    writer.key("principal").string(principal);
    writer.key("connected").boolean(row.connections > 0);
}

void DeviceList::append_tokens(json::Writer& writer, const Row& row) {
    writer.key("tokens").begin_array();
    for (const auto& token : row.tokens) append_token(writer, token);
    writer.end_array();
}

void DeviceList::append_tools(json::Writer& writer, const Row& row) {
    if (!row.refused.empty()) {
        writer.key("refused_tools").begin_array();
        for (const Presence::Refused& refused : row.refused) {
            writer.begin_object().key("tool").string_lossy(refused.tool);
            writer.key("code").string(refused.code);
            writer.key("reason").string_lossy(refused.reason).end_object();
        }
        writer.end_array();
    }
    if (!row.waiting.empty()) {
        writer.key("waiting_tools").begin_array();
        for (const std::string& tool : row.waiting) writer.string(tool);
        writer.end_array();
    }
}

void DeviceList::append_state(json::Writer& writer, const Row& row) {
    if (row.last_seen) writer.key("last_seen_at").string(to_rfc3339(*row.last_seen));
    if (row.battery) writer.key("battery").number(*row.battery);
    if (row.charging) writer.key("charging").boolean(*row.charging);
    if (row.metered) writer.key("metered").boolean(*row.metered);
    if (row.foreground) writer.key("foreground").boolean(*row.foreground);
}

void DeviceList::append_token(json::Writer& writer, const trust::TokenRecord& token) {
    writer.begin_object().key("id").string(token.id);
    writer.key("kind").string(token.public_key.empty() ? "token" : "key");
    append_roles(writer, token.roles);
    writer.key("tenants").begin_array();
    for (const TenantId& tenant : token.tenants) writer.string_lossy(tenant.text());
    writer.end_array().key("created_at").string(to_rfc3339(token.created_at));
    if (token.expires_at) writer.key("expires_at").string(to_rfc3339(*token.expires_at));
    writer.key("revoked").boolean(token.revoked_at.has_value()).end_object();
}

}  // namespace crab::admin
