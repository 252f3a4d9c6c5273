#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"
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
    const auto reply = ask(options.target, Method::kGet, "/v1/peers");
    if (!reply) return reply.error();
    if (options.output == Output::kJson) return print_json(*reply), kExitOk;
    Table table({"PEER", "STATUS", "ENDPOINT", "CERTIFICATE UNTIL", "LAST SEEN", "PROBLEM"});
    for (const json::Value& peer : items_of(*reply, "peers")) {
        table.add({name_of(peer), text_of(peer, "status"), text_of(peer, "endpoint"),
                   text_of(peer, "not_after").substr(0, 10), text_of(peer, "last_seen_at"),
                   text_of(peer, "problem")});
    }
    if (table.empty())
        print_line("No peers yet: crab pair tool ENDPOINT NAME");
    else
        print(table.to_text(Terminal::out()));
    return kExitOk;
}

int run(const PeersShow& options) {
    const auto path = path_of(options.peer);
    if (!path) return path.error();
    const auto peer = ask(options.target, Method::kGet, *path);
    if (!peer) return peer.error();
    if (options.output == Output::kJson || !peer->is_object()) return print_json(*peer), kExitOk;
    for (const auto& [name, value] : *peer->as_object()) {
        print_line(fmt::format("{:<23}{}", printable(name),
                               printable(value.as_string() ? *value.as_string() : value.dump())));
    }
    return kExitOk;
}

int run(const PeersRenew& options) {
    const auto path = path_of(options.peer);
    if (!path) return path.error();
    const auto peer = ask(options.target, Method::kPost, *path + "/renew");
    if (!peer) return peer.error();
    print_line(
        printable(fmt::format("renewed {} until {}", name_of(*peer), text_of(*peer, "not_after"))));
    return kExitOk;
}

int run(const PeersRevoke& options) {
    const auto path = path_of(options.peer);
    if (!path) return path.error();
    json::Value body = json::Value::object();
    if (!options.reason.empty()) body.set("reason", options.reason);
    const auto peer = ask(options.target, Method::kPost, *path + "/revoke", body);
    if (!peer) return peer.error();
    print_line(printable("revoked " + name_of(*peer)));
    return kExitOk;
}

int run(const PeersSetStatus& options) {
    const auto path = path_of(options.peer);
    if (!path) return path.error();
    const auto peer = ask(options.target, Method::kPatch, *path,
                          json::Value::object({{"status", options.status}}));
    if (!peer) return peer.error();
    print_line(printable(fmt::format("{} is {}", name_of(*peer), text_of(*peer, "status"))));
    return kExitOk;
}

int run(const PeersIdentity& options) {
    const auto identity = ask(options.target, Method::kGet, "/v1/identity");
    if (!identity) return identity.error();
    if (options.output == Output::kJson) return print_json(*identity), kExitOk;
    for (const std::string_view member : {"gateway_id", "public_key_ed25519", "ca_fingerprint"}) {
        print_line(fmt::format("{}={}", member, printable(text_of(*identity, member))));
    }
    tell_hosts_line(options.target, text_of(*identity, "public_key_ed25519"));
    return kExitOk;
}

}  // namespace crab::cli
