#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
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

std::string owner_of_lease(const json::Value& lease) {
    return text_of(lease, "owner_component_type") + "/" + text_of(lease, "owner_component_id");
}

}  // namespace

int run(const LeasesList& options) {
    static const Listing kLeases{.members = {"leases"},
                                 .name = by_member("lease_id"),
                                 .columns = {column("LEASE", "lease_id"),
                                             {"OWNER", owner_of_lease},
                                             column("TENANT", "tenant_id"),
                                             column("AGENT", "agent_id"),
                                             column("SESSION", "session_id"),
                                             column("UNTIL", "expires_at"),
                                             {"BOUND",
                                              [](const json::Value& lease) {
                                                  return flag_of(lease, "disconnect_bound") ? "yes"
                                                                                            : "";
                                              }},
                                             {"CAPABILITIES", capabilities_of},
                                             wide_column("ISSUED", "issued_at")},
                                 .empty = "No leases. A peer makes one with POST /v1/leases."};
    return show_list([&] { return fetch(options.target, "/v1/leases"); }, kLeases, options.output);
}

int run(const LeasesRevoke& options) {
    if (!may_go_on(options.yes, fmt::format("Revoke the lease {}?", options.lease_id)))
        return kExitFailed;
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const Result<json::Value> reply =
        accepted(client->remove("/v1/leases/" + net::percent_encode(options.lease_id)));
    if (!reply) return report(reply.error());
    return show_done(
        *reply, options.output, text_of(*reply, "lease_id"),
        fmt::format("revoked {} of {}", text_of(*reply, "lease_id"), owner_of_lease(*reply)));
}

}  // namespace crab::cli
