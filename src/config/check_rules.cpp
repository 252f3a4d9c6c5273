#include "config/read_config.hpp"

#include "config/check_mcp.hpp"
#include "config/plain_http.hpp"
#include "config/rules.hpp"
#include "json/display_name.hpp"
#include "json/pointer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::config {
namespace {

void check_listen(const ListenOptions& listen, const YamlDocument& document, Rules& rules) {
    const json::Value* address = document.value.resolve("/listen/public");
    const bool off = address && address->as_string() && *address->as_string() == "off";
    rules.expect(off || listen.public_address, "/listen/public",
                 "has to be host:port with a port up to 65535, or off");
    const json::Value* peers = document.value.resolve("/listen/peers");
    const bool peers_off =
        peers == nullptr || (peers->as_string() != nullptr && *peers->as_string() == "off");
    rules.expect(peers_off || listen.peers, "/listen/peers",
                 "has to be host:port with a port up to 65535, or off");
    if (listen.public_address) {
        rules.expect(listen.tls || listen.public_address->is_loopback(), "/listen/public",
                     "without listen.tls it has to be a loopback address such as 127.0.0.1:42617; "
                     "set listen.tls");
        rules.expect(!listen.open_loopback || listen.public_address->is_loopback(),
                     "/listen/open_loopback", "needs a loopback address in listen.public");
    }
    rules.expect(listen.console == ConsoleAccess::kOff || listen.public_address, "/listen/console",
                 "needs listen.public, which is off");
}

void check_log(const LogOptions& log, Rules& rules) {
    for (const auto& [part, level] : log.levels)
        rules.expect(log::is_part(part), "/gateway/log/levels/" + json::escape_pointer(part),
                     "is no part of crab; crab gateway log-levels -o json lists them");
}

void check_grpc(const GrpcOptions& grpc, const YamlDocument& document, Rules& rules) {
    const json::Value* address = document.value.resolve("/grpc/listen");
    const bool off = !address || (address->as_string() && *address->as_string() == "off");
    rules.expect(off || grpc.address, "/grpc/listen",
                 "has to be host:port with a port up to 65535, or off");
    if (!grpc.address) return;
    rules.expect(
        grpc.tls || grpc.address->is_loopback(), "/grpc/listen",
        "without grpc.tls it has to be a loopback address such as 127.0.0.1:50063; set grpc.tls");
    rules.expect(!grpc.open_loopback || grpc.address->is_loopback(), "/grpc/open_loopback",
                 "needs a loopback address in grpc.listen");
}

void check_condition(const ArgumentCondition& condition, const std::string& at, Rules& rules) {
    const bool tests = condition.equals_json || condition.glob || condition.matches ||
                       condition.min || condition.max;
    rules.expect(tests, at, "needs one of equals, glob, matches, min, max");
    rules.expect(!condition.min || !condition.max || *condition.min <= *condition.max, at + "/min",
                 "may not be more than max");
}

void check_fleet(const GatewayConfig& config, Rules& rules) {
    if (!config.fleet || !config.fleet->nats) return;
    rules.expect(!config.fleet->node_name.empty(), "/fleet/nats",
                 "needs fleet.node_name, a name that no other gateway of the fleet has");
    rules.expect(!config.fleet->key_file.empty(), "/fleet/nats",
                 "needs fleet.key_file, the keys that all gateways of the fleet sign with");
}

void check_peers(const std::vector<PeerOptions>& peers, const LeaseOptions& leases, Rules& rules) {
    for (std::size_t i = 0; i < peers.size(); ++i) {
        const auto has_the_id = [&](const PeerOptions& other) { return other.id == peers[i].id; };
        rules.expect(
            std::none_of(peers.begin(), peers.begin() + static_cast<std::ptrdiff_t>(i), has_the_id),
            fmt::format("/peers/{}/id", i), "another entry has this id; say all of a peer in one");
        // A tool host is shown the calls that are sent to it; nobody sends any to another
        // component.
        rules.expect(peers[i].role != "tool_host" || peers[i].id.starts_with("tool_host/"),
                     fmt::format("/peers/{}/role", i),
                     "is only for peers whose id begins with tool_host/");
    }
    rules.expect(leases.ttl <= leases.max_ttl, "/leases/ttl",
                 "may not be more than leases.max_ttl");
}

bool has_worktree(const GatewayConfig& config, const std::string& id) {
    return std::ranges::find(config.worktrees, id, &WorktreeOptions::id) != config.worktrees.end();
}

void check_remote_service(const RemoteServiceOptions& service, const std::string& at,
                          Rules& rules) {
    if (service.tls)
        rules.expect(service.tls->cert.empty() == service.tls->key.empty(), at + "/tls",
                     "needs cert and key together");
    if (service.address.empty() || service.address.starts_with("unix:/")) return;
    const auto address = HostPort::parse(service.address);
    rules.expect(address.has_value(), at + "/address",
                 "has to be host:port with a port up to 65535, or unix:/path");
    rules.expect(!address || service.tls || address->is_loopback(), at + "/address",
                 "without tls it has to be a loopback address; set tls");
}

void check_remote_provider(const ProviderOptions& provider, const std::string& at, Rules& rules) {
    const RemoteProviderOptions& remote = provider.remote;
    if (provider.kind != ProviderKind::kGrpc) {
        const bool none = remote == RemoteProviderOptions{};
        rules.expect(none, at,
                     "address, tls, token_file, provider_id, principal, ceilings and descriptors "
                     "are only for kind: grpc");
        rules.expect(
            provider.labels != LabelRule::kTrust, at + "/labels",
            "can be trust only for kind: grpc; only the gateway can enforce them for commands");
        return;
    }
    rules.expect(!remote.service.address.empty(), at, "kind: grpc needs the key address");
    rules.expect(
        provider.tools_json.empty(), at + "/tools",
        "is only for kind: command; use descriptors, or nothing if the provider lists its tools");
    rules.expect(provider.egress.empty() && provider.worktree.empty() && !provider.worktree_preset,
                 at, "worktree, egress and preset are only for kind: command");
    check_remote_service(remote.service, at, rules);
}

void check_providers(const GatewayConfig& config, Rules& rules) {
    for (std::size_t i = 0; i < config.worktrees.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            rules.expect(config.worktrees[k].id != config.worktrees[i].id,
                         fmt::format("/worktrees/{}/id", i), "another worktree has this id");
        }
    }
    if (config.worktree_service)
        check_remote_service(*config.worktree_service, "/worktree_service", rules);
    if (config.hitl) check_remote_service(*config.hitl, "/hitl", rules);
    for (std::size_t i = 0; i < config.providers.size(); ++i) {
        const ProviderOptions& provider = config.providers[i];
        const std::string at = fmt::format("/providers/{}", i);
        rules.expect(provider.worktree.empty() || has_worktree(config, provider.worktree),
                     at + "/worktree", "is not an id of worktrees");
        rules.expect(provider.worktree_preset || !provider.run, at + "/run",
                     "is only for preset: worktree");
        rules.expect(provider.id != "builtin", at + "/id", "is the name of the built-in tools");
        check_remote_provider(provider, at, rules);
        for (std::size_t k = 0; k < i; ++k)
            rules.expect(config.providers[k].id != provider.id, at + "/id",
                         "another provider has this id");
        for (const ToolHostOptions& host : config.hosts)
            rules.expect(host.name != provider.id, at + "/id", "a host has this name");
    }
}

void check_hook(const HookRule& hook, const std::string& at, Rules& rules) {
    switch (hook.type) {
        case HookType::kCommand:
            rules.expect(!hook.run.empty(), at, "a command hook needs the key run");
            rules.expect(hook.run.empty() || hook.run[0].starts_with('/'), at + "/run/0",
                         "has to be the absolute path of a program");
            break;
        case HookType::kDeny:
            rules.expect(!hook.reason.empty(), at, "a deny hook needs the key reason");
            break;
        case HookType::kReplace:
            rules.expect(!hook.args_json.empty(), at, "a replace hook needs the key args");
            break;
    }
    rules.expect(hook.type == HookType::kCommand || hook.run.empty(), at + "/run",
                 "is only for hooks of type command");
    rules.expect(hook.type == HookType::kReplace || hook.args_json.empty(), at + "/args",
                 "is only for hooks of type replace");
}

void check_tracing(const TracingOptions& tracing, Rules& rules) {
    rules.expect(
        tracing.headers_file.empty() || tracing.allow_plain || !is_plain_elsewhere(tracing.otlp),
        "/tracing/otlp",
        "is http on another machine, where headers_file could be read on the way: use "
        "https://, or allow_plain where something else encrypts");
}

void check_agents(const GatewayConfig& config, Rules& rules) {
    const auto name_of = [](const ModelOptions& model) {
        return model.name.empty() ? model.model : model.name;
    };
    constexpr std::size_t kLeastThinking = 1'024;  // what the API takes
    for (std::size_t i = 0; i < config.models.size(); ++i) {
        const ModelOptions& model = config.models[i];
        rules.expect(model.thinking_tokens == 0 || (model.thinking_tokens >= kLeastThinking &&
                                                    model.api == ModelApiKind::kAnthropic),
                     fmt::format("/models/{}/thinking_tokens", i),
                     "is for api: anthropic, and 0 or at least 1024");
        const bool has_key = !model.key_env.empty() || !model.key_file.empty();
        rules.expect(!has_key || model.allow_plain || !is_plain_elsewhere(model.url),
                     fmt::format("/models/{}/url", i),
                     "is http on another machine, where the key could be read on the way: use "
                     "https://, or allow_plain where something else encrypts");
        for (std::size_t k = 0; k < i; ++k)
            rules.expect(name_of(config.models[k]) != name_of(config.models[i]),
                         fmt::format("/models/{}", i),
                         "another model has this name; give it one with the key name");
    }
    for (std::size_t i = 0; i < config.agents.size(); ++i) {
        const NamedAgentOptions& agent = config.agents[i];
        const std::string at = fmt::format("/agents/{}", i);
        const auto name = json::read_display_name(agent.name);
        rules.expect(name.has_value(), at + "/name", name ? std::string() : name.error().message);
        // Rules name principals by globs, and paths end at a slash.
        rules.expect(!name || name->find_first_of("*?/") == std::string::npos, at + "/name",
                     "holds none of * ? /");
        rules.expect(agent.name != "crab", at + "/name",
                     "is the name of the standard agent; the key agent describes it");
        const bool in_turn = std::ranges::any_of(
            agent.on, [](const TriggerOptions& trigger) { return trigger.one_session; });
        rules.expect(!in_turn || agent.at_once == 1, at + "/at_once",
                     "has to be 1 where turns go on with one session (on: session: agent)");
        for (std::size_t k = 0; k < i; ++k)
            rules.expect(config.agents[k].name != agent.name, at + "/name",
                         "another agent has this name");
        for (std::size_t k = 0; k < agent.models.size(); ++k) {
            rules.expect(
                std::ranges::find(config.models, agent.models[k], name_of) != config.models.end(),
                fmt::format("{}/models/{}", at, k), "is not a name of models");
        }
    }
}

}  // namespace

void check_rules(const GatewayConfig& config, const YamlDocument& document, Problems& problems) {
    Rules rules(document, problems);
    check_log(config.gateway.log, rules);
    check_listen(config.listen, document, rules);
    check_grpc(config.grpc, document, rules);
    rules.expect(config.calls.default_timeout <= config.calls.max_timeout,
                 "/calls/default_timeout_ms", "may not be more than calls.max_timeout_ms");
    for (std::size_t i = 0; i < config.policy.size(); ++i) {
        for (std::size_t k = 0; k < config.policy[i].where.size(); ++k) {
            check_condition(config.policy[i].where[k], fmt::format("/policy/{}/where/{}", i, k),
                            rules);
        }
    }
    check_peers(config.peers, config.leases, rules);
    check_fleet(config, rules);
    for (std::size_t i = 0; i < config.tools.size(); ++i) {
        const ToolOverride& tool = config.tools[i];
        rules.expect(
            !tool.timeout || *tool.timeout <= tool.max_timeout.value_or(config.calls.max_timeout),
            fmt::format("/tools/{}/timeout_ms", i), "may not be more than max_timeout_ms");
    }
    const PairingOptions& pairing = config.pairing;
    rules.expect(
        pairing.ca.empty() == pairing.cert.empty() && pairing.ca.empty() == pairing.key.empty(),
        "/pairing", "ca, cert and key belong together");
    for (std::size_t i = 0; i < config.hosts.size(); ++i) {
        const std::string at = fmt::format("/hosts/{}", i);
        constexpr std::size_t kLongestSocket = 107;  // sun_path, unix(7)
        const bool is_peer = !config.hosts[i].peer.empty();
        rules.expect(is_peer != !config.hosts[i].unix_socket.empty(), at,
                     "needs one of the keys unix and peer");
        rules.expect(is_peer || config.hosts[i].unix_socket.empty() ||
                         config.hosts[i].unix_socket.is_absolute(),
                     at + "/unix", "has to be the absolute path of a socket");
        rules.expect(config.hosts[i].unix_socket.native().size() <= kLongestSocket, at + "/unix",
                     "has more than 107 bytes, which no socket's path can have");
        for (std::size_t k = 0; k < i; ++k)
            rules.expect(config.hosts[k].name != config.hosts[i].name, at + "/name",
                         "another host has this name");
    }
    check_providers(config, rules);
    check_agents(config, rules);
    check_tracing(config.tracing, rules);
    check_mcp(config.mcp, rules);
    for (std::size_t i = 0; i < config.hooks.size(); ++i) {
        const std::string at = fmt::format("/hooks/{}", i);
        check_hook(config.hooks[i], at, rules);
        for (std::size_t k = 0; k < i; ++k) {
            rules.expect(config.hooks[k].name != config.hooks[i].name, at + "/name",
                         "another hook has this name");
        }
    }
}

}  // namespace crab::config
