#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"
#include "net/codec/url.hpp"

#include <fmt/format.h>

namespace crab::cli {
namespace {

std::string capabilities_of(const json::Value& lease) {
    std::string text;
    for (const json::Value& each : items_of(lease, "capabilities_json"))
        text += (text.empty() ? "" : " ") + (each.as_string() ? *each.as_string() : each.dump());
    return text;
}

}  // namespace

int run(const LeasesList& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const Result<json::Value> reply = accepted(client->get("/v1/leases"));
    if (!reply) return report(reply.error());
    if (options.output == Output::kJson) return print_json(*reply), kExitOk;
    Table table({"LEASE", "OWNER", "TENANT", "AGENT", "SESSION", "UNTIL", "BOUND", "CAPABILITIES"});
    for (const json::Value& lease : items_of(*reply, "leases")) {
        table.add(
            {text_of(lease, "lease_id"),
             text_of(lease, "owner_component_type") + "/" + text_of(lease, "owner_component_id"),
             text_of(lease, "tenant_id"), text_of(lease, "agent_id"), text_of(lease, "session_id"),
             text_of(lease, "expires_at"), flag_of(lease, "disconnect_bound") ? "yes" : "",
             capabilities_of(lease)});
    }
    if (table.empty())
        print_line("No leases. A peer makes one with POST /v1/leases.");
    else
        print(table.to_text(Terminal::out()));
    return kExitOk;
}

int run(const LeasesRevoke& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const Result<json::Value> reply =
        accepted(client->remove("/v1/leases/" + net::percent_encode(options.lease_id)));
    if (!reply) return report(reply.error());
    print_line(printable(fmt::format("revoked {} of {}/{}", text_of(*reply, "lease_id"),
                                     text_of(*reply, "owner_component_type"),
                                     text_of(*reply, "owner_component_id"))));
    return kExitOk;
}

}  // namespace crab::cli
