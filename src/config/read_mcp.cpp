#include "config/read_mcp.hpp"

namespace crab::config {

// Not in the namespace without a name: Members finds them by the types of their arguments.
static void read(const Value& value, McpSecretText& out) {
    if (const std::string* text = value.as_string()) out.text = Secret<std::string>(*text);
}
static void read(const Value& value, McpEra& out) {
    const std::string* word = value.as_string();
    if (!word) return;
    if (*word == "probe") out = McpEra::kProbe;
    if (*word == "modern") out = McpEra::kModern;
    if (*word == "legacy") out = McpEra::kLegacy;
    if (*word == "sse") out = McpEra::kSse;
}
static void read(const Value& value, McpPin& out) {
    const std::string* word = value.as_string();
    if (!word) return;
    if (*word == "trust_first") out = McpPin::kTrustFirst;
    if (*word == "ask") out = McpPin::kAsk;
    if (*word == "off") out = McpPin::kOff;
}
static void read(const Value& value, McpOutputRule& out) {
    const std::string* word = value.as_string();
    if (!word) return;
    if (*word == "warn") out = McpOutputRule::kWarn;
    if (*word == "strict") out = McpOutputRule::kStrict;
    if (*word == "off") out = McpOutputRule::kOff;
}

static void read(const Value& value, McpPrefix& out) {
    const std::string* word = value.as_string();
    if (!word) return;
    if (*word == "auto") out = McpPrefix::kAuto;
    if (*word == "always") out = McpPrefix::kAlways;
    if (*word == "never") out = McpPrefix::kNever;
}

namespace {

/// Whether the member `name` is this word; `out` stays when there is none.
void read_word(const Members& members, std::string_view name, std::string_view word, bool& out) {
    std::string given;
    members(name, given);
    if (!given.empty()) out = given == word;
}

void read_secrets(const Members& members, std::string_view name, McpSecretTexts& out) {
    members.entries(name, out, [](const Members& entry, McpSecretText& text) { entry.self(text); });
}

void read_sandbox(const Members& sandbox, McpSandboxOptions& out) {
    sandbox("read", out.read)("write", out.write)("memory_bytes", out.memory_bytes);
    read_word(sandbox, "network", "host", out.network);
    read_word(sandbox, "privilege", "minimal", out.minimal);
}

void read_auth(const Members& auth, McpAuthOptions& out) {
    read_secrets(auth, "headers", out.headers);
    auth("user", out.user)("allow_plain", out.allow_plain);
    if (const Members client = auth.in("client"); client.present()) {
        McpLoginClient& made = out.client.emplace();
        client("issuer", made.issuer)("client_id", made.client_id);
        client("client_secret", made.client_secret);
    }
    if (const Members client = auth.in("client_credentials"); client.present()) {
        McpClientCredentials& made = out.client_credentials.emplace();
        client("issuer", made.issuer)("client_id", made.client_id)("key_file", made.key_file);
        client("client_secret", made.client_secret)("scopes", made.scopes);
    }
}

void read_oauth(const Members& oauth, McpOauthOptions& out) {
    oauth("issuer", out.issuer)("issuer_name", out.issuer_name)("resource", out.resource);
    oauth("jwks", out.jwks)("scopes", out.scopes);
    oauth.in("introspection")("url", out.introspection)("client_id", out.introspection_client)(
        "client_secret", out.introspection_secret);
    oauth.in("claims")("tenant", out.tenant_claim)("roles", out.roles_claim);
}

void read_start(const Members& server, McpServerOptions& out) {
    server("command", out.command)("args", out.args)("cwd", out.cwd)("url", out.url);
    read_secrets(server, "env", out.env);
    if (const Members sandbox = server.in("sandbox"); sandbox.present())
        read_sandbox(sandbox, out.sandbox.emplace());
    server.in("tls")("ca", out.tls.ca)("cert", out.tls.cert)("key", out.tls.key);
    read_auth(server.in("auth"), out.auth);
    read_word(server, "start", "eager", out.eager);
    server("start_timeout", out.start_timeout)("probe_timeout", out.probe_timeout)("idle_stop",
                                                                                   out.idle_stop);
}

void read_tool(const Members& tool, McpToolOptions& out) {
    tool("side_effects", out.side_effects)("idempotent", out.idempotent)("timeout", out.timeout);
}

void read_budget(const Members& budget, McpBudgetOptions& out) {
    budget("tools", out.tools)("tokens", out.tokens);
}

void read_scope(const Members& scope, McpScopeOptions& out) {
    scope.in("tools")("allow", out.tools_allow)("deny", out.tools_deny);
    scope("instructions", out.instructions)("pinned", out.pinned);
    scope.in("names")("prefix", out.prefix);
    scope.entries("rename", out.rename,
                  [](const Members& entry, std::string& name) { entry.self(name); });
    read_budget(scope.in("budget"), out.budget);
}

}  // namespace

void read_mcp_server(const Members& server, McpServerOptions& out) {
    read_start(server, out);
    server("enabled", out.enabled)("era", out.era)("interactive", out.interactive)("pin", out.pin);
    read_word(server, "session", "shared", out.shared_session);
    server.in("tools")("allow", out.tools_allow)("deny", out.tools_deny);
    server.entries("overrides", out.overrides, read_tool);
    std::map<std::string, McpToolOptions, std::less<>>
        beside;  // under `tools` are two keys, and names
    server.entries("tools", beside, read_tool);
    beside.erase("allow");
    beside.erase("deny");
    out.overrides.merge(beside);
    server.in("ask")("elicitation", out.ask_elicitation)("sampling", out.ask_sampling)(
        "roots", out.ask_roots);
    server("trust_annotations", out.trust_annotations)("output", out.output)("drop_nulls",
                                                                             out.drop_nulls);
    read_word(server, "instructions", "pass", out.pass_instructions);
    server("timeout", out.timeout)("max_timeout", out.max_timeout)("at_once", out.at_once);
}

void read_mcp(const Members& mcp, McpOptions& out) {
    mcp("enabled", out.enabled)("versions", out.versions)("instructions", out.instructions);
    mcp.entries("servers", out.servers, read_mcp_server);
    mcp.in("names")("max", out.names.max)("prefix", out.names.prefix);
    read_word(mcp.in("names"), "dots", "underscore", out.names.dots_to_underscores);
    if (const Members oauth = mcp.in("oauth"); oauth.present())
        read_oauth(oauth, out.oauth.emplace());
    mcp("client_metadata_url", out.client_metadata_url);
    read_budget(mcp.in("budget"), out.budget);
    mcp("pinned", out.pinned);
    mcp.entries("scopes", out.scopes, read_scope);
    mcp("page", out.page)("max_request", out.max_request);
    mcp("sessions_per_principal", out.sessions_per_principal)("streams_per_principal",
                                                              out.streams_per_principal);
    mcp("stream_after", out.stream_after)("keepalive", out.keepalive)("list_ttl", out.list_ttl)(
        "session_idle", out.session_idle)("task_after", out.task_after)("input_wait",
                                                                        out.input_wait);
    mcp("max_reply", out.max_reply)("poll_after", out.poll_after)("legacy_sse", out.legacy_sse);
}

}  // namespace crab::config
