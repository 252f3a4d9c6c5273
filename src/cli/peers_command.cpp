#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "trust/pairing/peer_name.hpp"

#include <expected>

#include <fmt/format.h>

namespace crab::cli {
namespace {

/// The body of a good answer, or the exit code after what failed was told. The codes of a pairing
/// are not among our ErrorCodes.
std::expected<json::Value, int> body_or_exit_code(Result<Reply> reply) {
    if (!reply) return std::unexpected(report(reply.error()));
    if (reply->status >= 200 && reply->status < 300) return std::move(reply->body);
    const std::string code = text_of(reply->body, "code");
    complain(
        printable(fmt::format("{}: {}", code.empty() ? fmt::format("HTTP {}", reply->status) : code,
                              text_of(reply->body, "error"))));
    return std::unexpected(exit_code_of(std::string_view(code)));
}

/// `/v1/peers/<type>/<id>` for a peer that is named `<type>/<id>`, types with their aliases.
std::expected<std::string, int> path_of(const std::string& peer) {
    const std::size_t slash = peer.find('/');
    const auto type = slash == std::string::npos
                          ? std::nullopt
                          : trust::parse_component_type(peer.substr(0, slash));
    if (type && trust::is_component_id(peer.substr(slash + 1)))
        return fmt::format("/v1/peers/{}/{}", to_text(*type), peer.substr(slash + 1));
    complain(
        "name a peer by its type and id, such as tool_host/memory; crab peers list shows them all");
    return std::unexpected(kExitUsage);
}

enum class Method : std::uint8_t { kGet, kPost, kPatch };

std::expected<json::Value, int> ask(const Target& target, Method method, const std::string& path,
                                    const json::Value& body = json::Value::object()) {
    Result<AdminClient> client = AdminClient::make(target);
    if (!client) return std::unexpected(report(client.error()));
    switch (method) {
        case Method::kGet: return body_or_exit_code(client->get(path));
        case Method::kPost: return body_or_exit_code(client->post(path, body));
        case Method::kPatch: return body_or_exit_code(client->patch(path, body));
    }
    return std::unexpected(kExitFailed);
}

/// For people: the line that starts a host for this gateway, with where the host finds it.
void tell_hosts_line(const Target& target, const std::string& key) {
    Result<AdminClient> client = AdminClient::make(target);
    const auto status = client ? accepted(client->get("/v1/admin/status")) : fail(client.error());
    const std::string peers = status ? text_of(*status, "peers") : std::string();
    fmt::print(stderr, "on the remote: crab host {} --listen 0.0.0.0:7443 --gateway-key {}{}\n",
               peers.empty() ? "memory" : "cron", printable(key),
               peers.empty() ? "" : " --events-to " + printable(peers));
}

std::string name_of(const json::Value& peer) {
    return text_of(peer, "component_type") + "/" + text_of(peer, "component_id");
}

}  // namespace

int run(const PeersList& options) {
    static const Listing kPeers{.members = {"peers"},
                                .name = name_of,
                                .columns = {{"PEER", name_of},
                                            column("STATUS", "status"),
                                            column("ENDPOINT", "endpoint"),
                                            {"CERTIFICATE UNTIL",
                                             [](const json::Value& peer) {
                                                 return text_of(peer, "not_after").substr(0, 10);
                                             }},
                                            column("LAST SEEN", "last_seen_at"),
                                            column("PROBLEM", "problem"),
                                            wide_column("KEY", "public_key_ed25519")},
                                .empty = "No peers yet: crab peers pair tool ENDPOINT NAME"};
    const auto ask_for_peers = [&]() -> Result<json::Value> {
        Result<AdminClient> client = AdminClient::make(options.target);
        return client ? accepted(client->get("/v1/peers")) : fail(client.error());
    };
    return show_list(ask_for_peers, kPeers, options.output);
}

int run(const PeersShow& options) {
    const auto path = path_of(options.peer);
    if (!path) return path.error();
    const auto peer = ask(options.target, Method::kGet, *path);
    if (!peer) return peer.error();
    if (!options.output.is_text()) return show_value(*peer, options.output);
    print_members(*peer, 23);
    return kExitOk;
}

int run(const PeersRenew& options) {
    const auto path = path_of(options.peer);
    if (!path) return path.error();
    const auto peer = ask(options.target, Method::kPost, *path + "/renew");
    if (!peer) return peer.error();
    return show_done(
        *peer, options.output, name_of(*peer),
        fmt::format("renewed {} until {}", name_of(*peer), text_of(*peer, "not_after")));
}

int run(const PeersRevoke& options) {
    const auto path = path_of(options.peer);
    if (!path) return path.error();
    if (!may_go_on(options.yes, fmt::format("Revoke {} for good?", options.peer)))
        return kExitFailed;
    json::Value body = json::Value::object();
    if (!options.reason.empty()) body.set("reason", options.reason);
    const auto peer = ask(options.target, Method::kPost, *path + "/revoke", body);
    if (!peer) return peer.error();
    return show_done(*peer, options.output, name_of(*peer), "revoked " + name_of(*peer));
}

int run(const PeersSetStatus& options) {
    const auto path = path_of(options.peer);
    if (!path) return path.error();
    const auto peer = ask(options.target, Method::kPatch, *path,
                          json::Value::object({{"status", options.status}}));
    if (!peer) return peer.error();
    return show_done(*peer, options.output, name_of(*peer),
                     fmt::format("{} is {}", name_of(*peer), text_of(*peer, "status")));
}

int run(const PeersIdentity& options) {
    const auto identity = ask(options.target, Method::kGet, "/v1/identity");
    if (!identity) return identity.error();
    if (!options.output.is_text()) return show_value(*identity, options.output);
    for (const std::string_view member : {"gateway_id", "public_key_ed25519", "ca_fingerprint"}) {
        print_line(fmt::format("{}={}", member, printable(text_of(*identity, member))));
    }
    tell_hosts_line(options.target, text_of(*identity, "public_key_ed25519"));
    return kExitOk;
}

}  // namespace crab::cli
