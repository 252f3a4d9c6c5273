#include "config/read_config.hpp"

#include "config/read_mcp.hpp"
#include "config/read_members.hpp"
#include "json/display_name.hpp"

namespace crab::config {

// Not in the namespace without a name: Members finds them by the types of their arguments.
static void read(const Value& value, HookType& out) {
    const std::string* word = value.as_string();
    if (!word) return;
    if (*word == "command") out = HookType::kCommand;
    if (*word == "deny") out = HookType::kDeny;
    if (*word == "replace") out = HookType::kReplace;
}

static void read(const Value& value, CallEventRule& out) {
    const std::string* word = value.as_string();
    if (!word) return;
    if (*word == "effects") out = CallEventRule::kEffects;
    if (*word == "all") out = CallEventRule::kAll;
    if (*word == "wanted") out = CallEventRule::kWanted;
}
static void read(const Value& value, UnattendedRule& out) {
    if (const std::string* word = value.as_string())
        out = *word == "wait" ? UnattendedRule::kWait : UnattendedRule::kRefuse;
}
static void read(const Value& value, ChatApprover& out) {
    if (const std::string* word = value.as_string())
        out = *word == "owner" ? ChatApprover::kOwner : ChatApprover::kOperator;
}
static void read(const Value& value, ConsoleAccess& out) {
    const std::string* word = value.as_string();
    if (!word) return;
    if (*word == "off") out = ConsoleAccess::kOff;
    if (*word == "operators") out = ConsoleAccess::kOperators;
    if (*word == "people") out = ConsoleAccess::kPeople;
}
static void read(const Value& value, NewToolRule& out) {
    if (const std::string* word = value.as_string())
        out = *word == "ask" ? NewToolRule::kAsk : NewToolRule::kAllow;
}
static void read(const Value& value, ModelApiKind& out) {
    if (const std::string* word = value.as_string())
        out = *word == "anthropic" ? ModelApiKind::kAnthropic : ModelApiKind::kOpenAi;
}

static void read(const Value& value, ProviderKind& out) {
    const std::string* word = value.as_string();
    if (!word) return;
    if (*word == "command") out = ProviderKind::kCommand;
    if (*word == "grpc") out = ProviderKind::kGrpc;
}
static void read(const Value& value, LabelRule& out) {
    const std::string* word = value.as_string();
    if (!word) return;
    if (*word == "enforce") out = LabelRule::kEnforce;
    if (*word == "advisory") out = LabelRule::kAdvisory;
    if (*word == "trust") out = LabelRule::kTrust;
}

namespace {

void read_listen(const Members& listen, ListenOptions& out) {
    std::string address = out.public_address ? out.public_address->to_text() : "off";
    listen("public", address)("path_prefix", out.path_prefix)(
        "allowed_origins", out.allowed_origins)("host_names", out.host_names);
    listen("open_loopback", out.open_loopback)("device_page", out.device_page)("max_connections",
                                                                               out.max_connections);
    listen("console", out.console)("max_connections_per_principal",
                                   out.max_connections_per_principal);
    listen.in("admin")("socket", out.admin_socket);
    std::string peers = "off";
    listen("peers", peers);
    out.peers = HostPort::parse(peers);
    out.public_address = HostPort::parse(address);
    if (const Members tls = listen.in("tls"); tls.present())
        tls("cert", out.tls.emplace().cert)("key", out.tls->key);
}

void read_grpc(const Members& grpc, GrpcOptions& out) {
    std::string address = out.address ? out.address->to_text() : "off";
    grpc("listen", address)("unix", out.unix_socket)("open_loopback", out.open_loopback)(
        "max_connections", out.max_connections);
    out.address = HostPort::parse(address);
    if (const Members tls = grpc.in("tls"); tls.present())
        tls("cert", out.tls.emplace().cert)("key", out.tls->key);
}

void read_limits(const Members& limits, LimitOptions& out) {
    limits("message_bytes", out.message_bytes)("request_body_bytes", out.request_body_bytes)(
        "json_depth", out.json_depth);
    limits("tools_per_connection", out.tools_per_connection)("tool_name", out.tool_name)(
        "description_bytes", out.description_bytes);
    limits("parameters_bytes", out.parameters_bytes)("calls_per_connection",
                                                     out.calls_per_connection);
    limits("outgoing_queue_bytes", out.outgoing_queue_bytes)("slow_reader_s", out.slow_reader);
    limits("waiting_turns", out.waiting_turns)("result_bytes", out.result_bytes);
}

void read_condition(const Members& condition, ArgumentCondition& out) {
    condition("pointer", out.pointer)("glob", out.glob)("matches", out.matches)("min", out.min)(
        "max", out.max);
    condition.text("equals", out.equals_json);
}

void read_policy(const Members& rule, PolicyRule& out) {
    rule("principal", out.principal)("roles", out.roles)("tenant", out.tenant)(
        "sources", out.sources)("effects", out.effects)("act_for", out.act_for);
    rule.in("call")("allow", out.call_allow)("deny", out.call_deny)("needs_approval",
                                                                    out.call_needs_approval);
    rule.in("register")("allow", out.register_allow)("deny", out.register_deny);
    rule.each("where", out.where, read_condition);
}

void read_peer(const Members& peer, PeerOptions& out) {
    peer("id", out.id)("role", out.role)("tenants", out.tenants)("allow", out.allow)("deny",
                                                                                     out.deny);
}

void read_override(const Members& tool, ToolOverride& out) {
    tool("match", out.match)("timeout_ms", out.timeout)("max_timeout_ms", out.max_timeout)(
        "max_concurrency", out.max_concurrency);
    tool("queue", out.queue)("trust_annotations", out.trust_annotations)(
        "idempotent", out.idempotent)("side_effects", out.side_effects);
}

void read_remote_service(const Members& service, RemoteServiceOptions& out) {
    service("address", out.address)("token_file", out.token_file);
    if (const Members tls = service.in("tls"); tls.present())
        tls("ca", out.tls.emplace().ca)("cert", out.tls->cert)("key", out.tls->key);
}

void read_remote_provider(const Members& provider, RemoteProviderOptions& out) {
    read_remote_service(provider, out.service);
    provider("provider_id", out.provider_id)("principal", out.principal);
    const Members ceilings = provider.in("ceilings");
    ceilings("timeout", out.ceilings.timeout)("cpu", out.ceilings.cpu)("wall", out.ceilings.wall)(
        "max_retries", out.ceilings.max_retries);
    ceilings("network", out.ceilings.network)("privilege", out.ceilings.privilege);
    provider.texts("descriptors", out.descriptors_json);
}

void read_provider(const Members& provider, ProviderOptions& out) {
    std::string preset;
    provider("preset", preset)("run", out.run);
    out.worktree_preset = preset == "worktree";
    provider("id", out.id)("kind", out.kind)("worktree", out.worktree)("egress", out.egress)(
        "labels", out.labels);
    provider.texts("tools", out.tools_json);
    read_remote_provider(provider, out.remote);
}

void read_hook(const Members& hook, HookRule& out) {
    hook("name", out.name)("type", out.type)("tools", out.tools)("run", out.run)(
        "timeout_ms", out.timeout)("reason", out.reason);
    hook.text("args", out.args_json);
}

void read_model(const Members& model, ModelOptions& out) {
    model("model", out.model)("name", out.name)("api", out.api)("url", out.url)(
        "provider", out.provider)("key_env", out.key_env)("key_file", out.key_file)(
        "allow_plain", out.allow_plain);
    model("ca", out.ca)("max_output_tokens", out.max_output_tokens)(
        "thinking_tokens", out.thinking_tokens)("return_reasoning", out.return_reasoning)(
        "vision", out.vision);
    model("max_retries", out.max_retries)("silence_s", out.silence);
}

void read_trigger(const Members& trigger, TriggerOptions& out) {
    std::string session;
    trigger("event", out.event)("agent_id", out.agent_id)("session_id", out.session_id)(
        "prompt", out.prompt)("session", session)("max_age", out.max_age);
    out.one_session = session == "agent";
    trigger.each("where", out.where, [](const Members& condition, PayloadCondition& made) {
        condition("pointer", made.pointer)("glob", made.glob);
    });
}

void read_agent(const Members& agent, NamedAgentOptions& out) {
    agent("name", out.name)("instructions", out.instructions)("models", out.models)(
        "tenant", out.tenant)("max_rounds", out.max_rounds);
    agent("turn_timeout_s", out.turn_timeout)("context_tokens", out.context_tokens)(
        "output_bytes", out.output_bytes)("max_tools", out.max_tools);
    agent("tool_tokens", out.tool_tokens)("at_once", out.at_once);
    if (auto name = json::read_display_name(out.name)) out.name = std::move(*name);
    agent.each("on", out.on, read_trigger);
    // Its own lists take the place of all of the standard agent's.
    if (const Members tools = agent.in("tools"); tools.present())
        tools("allow", out.tools_allow.emplace())("deny", out.tools_deny.emplace())(
            "pinned", out.tools_pinned.emplace());
}

void read_gateway(const Members& gateway, GatewayOptions& out) {
    gateway("name", out.name)("threads", out.threads)("state_dir", out.state_dir);
    gateway("runtime_dir", out.runtime_dir);
    gateway.in("log")("level", out.log.level)("format", out.log.format);
    gateway.in("log").entries("levels", out.log.levels,
                              [](const Members& level, log::Level& one) { level.self(one); });
}

void read_standard_agent(const Members& agent, AgentOptions& out) {
    agent("instructions", out.instructions)("max_rounds", out.max_rounds)("turn_timeout_s",
                                                                          out.turn_timeout);
    agent("context_tokens", out.context_tokens)("output_bytes", out.output_bytes)("max_tools",
                                                                                  out.max_tools);
    agent.in("tools")("allow", out.tools_allow)("deny", out.tools_deny)("pinned", out.tools_pinned);
    agent("tool_tokens", out.tool_tokens);
}

/// Who may do what, who has to be asked first, and how often.
void read_rules(const Members& root, GatewayConfig& config) {
    root.each("rates", config.rates, [](const Members& rate, RateRule& out) {
        rate("principal", out.principal)("tool", out.tool)("per_second", out.per_second)("burst",
                                                                                         out.burst);
    });
    root.each("policy", config.policy, read_policy);
    root.in("approvals")("wait", config.approvals.wait)(
        "max_waiting", config.approvals.max_waiting)("unattended", config.approvals.unattended);
    root.in("approvals")("max_waiting_per_principal", config.approvals.max_waiting_per_principal)(
        "in_chat", config.approvals.in_chat)("in_mcp", config.approvals.in_mcp);
    root.in("approvals")("new_tools", config.approvals.new_tools);
    root.each("hooks", config.hooks, read_hook);
    if (const Members service = root.in("hitl"); service.present())
        read_remote_service(service, config.hitl.emplace());
}

/// What connects from elsewhere: devices, and peers with their leases and how they are paired.
void read_components(const Members& root, GatewayConfig& config) {
    root.in("devices")("grace_ms", config.devices.grace)("ping_after_s", config.devices.ping_after);
    root.in("devices")("permessage_deflate", config.devices.permessage_deflate)(
        "query_token", config.devices.query_token);
    root.in("devices")("token_days", config.devices.token_lifetime);
    root.each("peers", config.peers, read_peer);
    root.in("leases")("ttl", config.leases.ttl)("max_ttl", config.leases.max_ttl)(
        "renewal_window", config.leases.renewal_window);
    root.in("leases")("max_per_peer", config.leases.max_per_peer);
    root.in("pairing")("ca", config.pairing.ca)("cert", config.pairing.cert)("key",
                                                                             config.pairing.key);
    root.in("pairing")("allow_insecure_loopback", config.pairing.allow_insecure_loopback);
}

/// What runs tools, and what commands among them need.
void read_tool_hosts(const Members& root, GatewayConfig& config) {
    root.each("tools", config.tools, read_override);
    root.each("hosts", config.hosts, [](const Members& host, ToolHostOptions& out) {
        host("name", out.name)("unix", out.unix_socket)("peer", out.peer);
    });
    root.in("built_in_hosts")("memory", config.built_in_hosts.memory)("cron",
                                                                      config.built_in_hosts.cron);
    root.each("providers", config.providers, read_provider);
    root.each("worktrees", config.worktrees, [](const Members& worktree, WorktreeOptions& out) {
        worktree("id", out.id)("path", out.path)("read_only", out.read_only)("max_bytes",
                                                                             out.max_bytes);
    });
    if (const Members service = root.in("worktree_service"); service.present())
        read_remote_service(service, config.worktree_service.emplace());
    root.each("secrets", config.secrets, [](const Members& secret, SecretOptions& out) {
        secret("name", out.name)("env", out.env)("file", out.file);
    });
}

/// What is kept of calls, and for how long.
void read_records(const Members& root, GatewayConfig& config) {
    root.in("events")("retention", config.events.retention)("max_bytes", config.events.max_bytes)(
        "calls", config.events.calls)("chat_answers", config.events.chat_answers);
    root.in("artifacts")("max_bytes", config.artifacts.max_bytes)(
        "inline_bytes", config.artifacts.inline_bytes)("ttl", config.artifacts.ttl);
    root.in("artifacts")("tenant_bytes", config.artifacts.tenant_bytes)(
        "total_bytes", config.artifacts.total_bytes)("uploads", config.artifacts.uploads);
    if (const Members fleet = root.in("fleet"); fleet.present()) {
        FleetOptions& out = config.fleet.emplace();
        fleet("name", out.name)("node_name", out.node_name)("key_file", out.key_file)(
            "trust_stale", out.trust_stale);
        if (const Members nats = fleet.in("nats"); nats.present()) {
            FleetOptions::Nats& bus = out.nats.emplace();
            nats("urls", bus.urls)("user_file", bus.user_file);
        }
        fleet.in("postgres")("dsn_file", out.dsn_file)("require_sync", out.require_sync);
    }
    root.in("audit")("retention_days", config.audit.retention);
    root.in("metrics")("tools", config.metrics.tools);
    root.in("tracing")("otlp", config.tracing.otlp)("headers_file", config.tracing.headers_file)(
        "allow_plain", config.tracing.allow_plain)("ca", config.tracing.ca)(
        "sample", config.tracing.sample)("always", config.tracing.always);
    root.in("push")("services", config.push.services)("contact", config.push.contact);
}

}  // namespace

GatewayConfig read_config(const json::Value& document) {
    GatewayConfig config;
    const Members root(&document);
    read_gateway(root.in("gateway"), config.gateway);
    read_listen(root.in("listen"), config.listen);
    read_grpc(root.in("grpc"), config.grpc);
    read_limits(root.in("limits"), config.limits);
    root.in("calls")("default_timeout_ms", config.calls.default_timeout)("max_timeout_ms",
                                                                         config.calls.max_timeout);
    root.in("calls")("max_retries", config.calls.max_retries);
    read_rules(root, config);
    read_components(root, config);
    read_tool_hosts(root, config);
    read_records(root, config);
    root.each("models", config.models, read_model);
    read_standard_agent(root.in("agent"), config.agent);
    root.each("agents", config.agents, read_agent);
    read_mcp(root.in("mcp"), config.mcp);
    return config;
}

}  // namespace crab::config
