#include "base/encoding.hpp"
#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/pair_test_remote.hpp"
#include "crypto/key_text.hpp"
#include "trust/pairing/peer_name.hpp"

#include <array>
#include <expected>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::cli {
namespace {

constexpr std::string_view kDefaultTestId = "crab-cli-test";

/// What failed, as one line says it.
template <class T>
using Told = std::expected<T, std::string>;

/// The step that helps, by the code of the handshake; nothing where the words say it.
std::string_view step_after(std::string_view why) {
    struct Step {
        std::string_view code, next;
    };
    static constexpr std::array kSteps{
        Step{"UNREACHABLE",
             "start the remote (crab host … prints `listen=`), then give its address as the "
             "endpoint, such as wss://host:7001"},
        Step{"TIMEOUT",
             "see that the remote runs and can be reached from the gateway's machine, then pair "
             "again"},
        Step{"GATEWAY_KEY_MISMATCH",
             "the remote trusts another gateway: start it with the key that `crab peers identity` "
             "prints here"},
        Step{"STALE_INIT", "set the clocks of both machines, then pair again"},
        Step{"BUSY", "another pairing runs; pair again in a few seconds"},
        Step{"IDENTITY_MISMATCH",
             "compare the name and --remote-key with what the remote prints; if it has new keys on "
             "purpose, add --replace"},
        Step{"PERSIST_FAILED",
             "see that both sides can write their state folders, then pair again"},
    };
    for (const Step& step : kSteps) {
        if (why.contains(fmt::format("{}:", step.code))) return step.next;
    }
    return {};
}

int failed(std::string_view why) {
    fmt::print(stderr, "crab pair failed: {}\n", printable(why));
    if (const std::string_view next = step_after(why); !next.empty()) complain(next);
    return kExitFailed;
}

/// The body of a good answer; what the gateway refused is told in its own words.
Told<json::Value> told(Result<Reply> reply) {
    if (!reply) return std::unexpected(reply.error().message);
    if (reply->status >= 200 && reply->status < 300) return std::move(reply->body);
    const std::string code = text_of(reply->body, "code"),
                      why = reply->words.empty() ? text_of(reply->body, "error") : reply->words;
    return std::unexpected(fmt::format("gateway pairing failed: {}: {}",
                                       code.empty() ? fmt::format("HTTP {}", reply->status) : code,
                                       why));
}

std::string test_id(const std::string& given) {
    if (!given.empty()) return given;
    char host[256] = {};
    const bool known = ::gethostname(host, sizeof host - 1) == 0 && trust::is_component_id(host);
    return known ? host : std::string(kDefaultTestId);
}

int show_paired(const Output& output, std::string_view headline, const json::Value& answer) {
    if (!output.is_text()) return show_value(answer, output);
    const json::Value* const peer = answer.find("peer");
    const json::Value none;
    const json::Value& shown = peer != nullptr ? *peer : none;
    print_line(headline);
    print_line("pairing_id=" + printable(text_of(answer, "pairing_id")));
    print_line("component_type=" + printable(text_of(shown, "component_type")));
    print_line("component_id=" + printable(text_of(shown, "component_id")));
    print_line("endpoint=" + printable(text_of(answer, "endpoint")));
    print_line("mtls_cert_fingerprint=" + printable(text_of(shown, "mtls_cert_fingerprint")));
    return kExitOk;
}

/// Whether the gateway behind the socket is crab's. Others refuse members of a request that they do
/// not know.
bool is_crab(AdminClient& client, Deadline deadline) {
    const auto identity = client.get("/v1/identity", deadline);
    return identity && identity->status == 200 &&
           !text_of(identity->body, "public_key_ed25519").empty();
}

/// The Ed25519 key that the gateway has recorded for this name; empty when it has none.
std::string recorded_key(AdminClient& client, const PairRemote& options, std::string_view type,
                         Deadline deadline) {
    const auto peer = client.get(fmt::format("/v1/peers/{}/{}", type, options.name), deadline);
    return peer && peer->status == 200 && text_of(peer->body, "status") != "pending"
               ? text_of(peer->body, "public_key_ed25519")
               : std::string();
}

}  // namespace

int run(const PairRemote& options) {
    const auto type = trust::parse_component_type(options.component_type);
    if (!type || !trust::is_component_id(options.name)) {
        return wrong_usage(
            "a name has 1-64 characters of letters, digits, `.`, `_` and `-`, the first a letter "
            "or digit");
    }
    if (!options.remote_key.empty() && !crypto::from_base64_exact<32>(options.remote_key)) {
        return wrong_usage(
            "--remote-key: give the base64 text that the remote prints at its start");
    }
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return failed(client.error().message);
    const Deadline deadline = std::chrono::steady_clock::now() + options.timeout;
    const std::string known = recorded_key(*client, options, to_text(*type), deadline);

    json::Value request = json::Value::object({{"component_type", to_text(*type)},
                                               {"component_id", options.name},
                                               {"endpoint", options.endpoint}});
    const bool knows_more =
        (options.remote_key.empty() && !options.replace) || is_crab(*client, deadline);
    if (!options.remote_key.empty() && knows_more) request.set("remote_key", options.remote_key);
    // the original always takes the place of what was
    if (options.replace && knows_more) request.set("replace", true);
    const auto paired = told(client->post("/v1/pairings", request, deadline));
    if (!paired) return failed(paired.error());

    const json::Value* const key = paired->resolve("/peer/public_key_ed25519");
    if (!options.remote_key.empty() && !knows_more &&
        (key == nullptr || key->as_string() == nullptr ||
         *key->as_string() != options.remote_key)) {
        return failed(
            "this gateway has paired another remote than that of --remote-key: it does not look at "
            "the key; remove the peer there");
    }
    const int code = show_paired(options.output, "pairing complete", *paired);
    if (options.remote_key.empty() && key != nullptr && key->as_string() != nullptr &&
        *key->as_string() != known) {
        fmt::print(stderr,
                   "first use: compare with the line that the remote printed: remote_key={}\n",
                   printable(*key->as_string()));
    }
    return code;
}

int run(const PairTest& options) {
    const std::string id = test_id(options.component_id);
    if (!trust::is_component_id(id))
        return wrong_usage(
            "--component-id: 1-64 characters of letters, digits, `.`, `_` and `-`, the first a "
            "letter or digit");
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return failed(client.error().message);
    const Deadline deadline = std::chrono::steady_clock::now() + options.timeout;

    std::string gateway_key = options.gateway_public_key;
    if (gateway_key.empty()) {
        const auto identity = told(client->get("/v1/identity", deadline));
        if (!identity) return failed(identity.error());
        gateway_key = text_of(*identity, "public_key_ed25519");
    }
    const auto key = crypto::from_base64_exact<32>(gateway_key);
    if (!key)
        return wrong_usage(
            "--gateway-public-key: give the base64 text that crab peers identity prints");

    const auto remote = PairTestRemote::start({.component_id = id,
                                               .gateway_key = *key,
                                               .listen_address = options.listen_address,
                                               .listen_path = options.listen_path});
    if (!remote)
        return remote.error().code == ErrorCode::kInvalidArgs ? wrong_usage(remote.error().message)
                                                              : failed(remote.error().message);
    json::Value request = json::Value::object({{"component_type", "tool_host"},
                                               {"component_id", id},
                                               {"endpoint", (*remote)->endpoint()}});
    if (is_crab(*client, deadline)) {
        request.set("remote_key", to_base64((*remote)->public_key()));
        request.set("replace", options.replace);
        request.set("test", true);
    }
    const auto paired = told(client->post("/v1/pairings", request, deadline));
    if (!paired) return failed(paired.error());
    const auto end = (*remote)->wait_for_end(deadline);
    if (!end) return failed(end.error().message);
    if (!end->succeeded())
        return failed(fmt::format("{}: {}", token_of(end->error->code), end->error->message));
    return show_paired(options.output, "pairing test complete", *paired);
}

}  // namespace crab::cli
