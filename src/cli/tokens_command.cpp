#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::cli {
namespace {

std::string roles_of_token(const json::Value& token) {
    std::string roles;
    for (const json::Value& role : items_of(token, "roles"))
        roles += (roles.empty() ? "" : ",") + (role.as_string() ? *role.as_string() : role.dump());
    return roles;
}

std::string tenants_of_token(const json::Value& token) {
    std::string tenants;
    for (const json::Value& tenant : items_of(token, "tenants"))
        tenants += (tenants.empty() ? "" : ",") + (tenant.as_string() ? *tenant.as_string() : "");
    return tenants;
}

std::string state_of_token(const json::Value& token) {
    return flag_of(token, "revoked") ? "revoked" : "valid";
}

/// `{"tokens":[…]}`: each with whose it is.
Result<json::Value> find_tokens(const TokensList& options) {
    const auto reply = fetch(options.target, "/v1/admin/devices");
    if (!reply) return fail(reply.error());
    json::Value tokens = json::Value::array();
    for (const std::string_view owners : {"callers", "devices"}) {
        for (const json::Value& owner : items_of(*reply, owners)) {
            for (const json::Value& token : items_of(owner, "tokens")) {
                if (flag_of(token, "revoked") && !options.all) continue;
                json::Value& told = tokens.push_back(token);
                told.set("principal", text_of(owner, "principal"));
                told.set("name", text_of(owner, "name"));
            }
        }
    }
    return json::Value::object({{"tokens", std::move(tokens)}});
}

}  // namespace

int run(const TokensCreate& options) {
    return run(DevicesPair{.target = options.target,
                           .name = options.name,
                           .roles = options.roles,
                           .tenants = options.tenants,
                           .no_default_tenant = options.no_default_tenant,
                           .expires = options.expires,
                           .token = true,
                           .out = options.out,
                           .output = options.output});
}

int run(const TokensList& options) {
    static const Listing kTokens{
        .members = {"tokens"},
        .name = by_member("id"),
        .columns = {column("TOKEN", "id"),
                    column("PRINCIPAL", "principal"),
                    {"ROLES", roles_of_token},
                    column("CREATED", "created_at"),
                    column("UNTIL", "expires_at"),
                    {"STATE", state_of_token},
                    column("NAME", "name"),
                    wide_column("KIND", "kind"),
                    {"TENANTS", tenants_of_token, true}},
        .empty = "No tokens. Make one with crab tokens create --name NAME --out FILE."};
    return show_list([&] { return find_tokens(options); }, kTokens, options.output);
}

int run(const TokensRevoke& options) {
    if (!may_go_on(options.yes, fmt::format("Revoke {}?", fmt::join(options.ids, ", "))))
        return kExitFailed;
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    std::int64_t revoked = 0;
    int code = kExitOk;
    for (const std::string& id : options.ids) {
        const auto reply = accepted(
            client->post("/v1/admin/devices/revoke", json::Value::object({{"token_id", id}})));
        if (!reply) return report(reply.error());
        revoked += number_of(*reply, "revoked");
        if (number_of(*reply, "revoked") > 0) continue;
        complain(fmt::format("there is no token {} to revoke; crab tokens list shows them", id));
        code = kExitNotFound;
    }
    if (revoked == 0) return code;
    const int shown =
        show_done(json::Value::object({{"revoked", revoked}}), options.output,
                  fmt::format("{}", fmt::join(options.ids, "\n")),
                  fmt::format("revoked {} token{}", revoked, revoked == 1 ? "" : "s"));
    return code == kExitOk ? shown : code;
}

}  // namespace crab::cli
