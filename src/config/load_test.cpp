#include "config/load.hpp"

#include "json/pointer.hpp"
#include "json/value.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>

namespace crab::config {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

Environment environment_of(std::map<std::string, std::string, std::less<>> variables) {
    return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
}

Result<GatewayConfig> load(std::string_view text,
                           std::map<std::string, std::string, std::less<>> variables = {}) {
    return load_text(text, "gateway.yaml", environment_of(std::move(variables)));
}

std::string problems_of(std::string_view text,
                        std::map<std::string, std::string, std::less<>> variables = {}) {
    const auto loaded = load(text, std::move(variables));
    return loaded ? "" : loaded.error().message;
}

TEST(Load, NothingInTheFileGivesTheDefaults) {
    for (const std::string_view text : {"", "# only a comment\n", "---\n", "{}"}) {
        auto loaded = load(text);
        ASSERT_TRUE(loaded) << text << ": " << loaded.error().message;
        loaded->source.clear();
        EXPECT_EQ(*loaded, GatewayConfig{}) << text;
    }
}

constexpr std::string_view kEveryKey =
    R"(
gateway:
  name: harbour
  threads: 3
  state_dir: /srv/state
  runtime_dir: /srv/run
  log: {level: debug, format: json}
listen:
  public: "[::]:8443"
  peers: "0.0.0.0:42618"
  path_prefix: /crab
  tls: {cert: /c.pem, key: /k.pem}
  allowed_origins: ["https://app.example"]
  host_names: [crab.example]
  max_connections: 11
  max_connections_per_principal: 12
  admin: {socket: /srv/admin.sock}
limits:
  message_bytes: 2001
  request_body_bytes: 2002
  json_depth: 13
  tools_per_connection: 14
  tool_name: 15
  description_bytes: 16
  parameters_bytes: 17
  calls_per_connection: 18
  outgoing_queue_bytes: 2003
  slow_reader_s: 19
  waiting_turns: 20
  result_bytes: 2004
devices: {grace_ms: 21, ping_after_s: 22, permessage_deflate: true, query_token: false,)"
    R"( token_days: 23}
calls: {default_timeout_ms: 24, max_timeout_ms: 25, max_retries: 1}
rates:
  - {principal: "caller/*", tool: "sms.*", per_second: 0.5, burst: 3}
policy:
  - principal: device/*
    roles: [caller]
    tenant: harbour
    call: {allow: ["a.*"], deny: [a.b], needs_approval: [a.c]}
    register: {allow: [x], deny: [y]}
    sources: [device/*]
    where:
      - {pointer: /to, equals: {n: 1}}
      - {pointer: /to, glob: "+49*"}
      - {pointer: /to, matches: "^a"}
      - {pointer: /n, min: 1, max: 2.5}
peers:
  - {id: subscriber/log, role: listener, tenants: [harbour], allow: ["events.*"],)"
    R"( deny: ["events.publish:*"]}
leases: {ttl: 90s, max_ttl: 2d, renewal_window: 250ms, max_per_peer: 3}
approvals: {wait: 30s, max_waiting: 5, max_waiting_per_principal: 2, unattended: wait,)"
    R"( in_chat: owner, in_mcp: owner, new_tools: ask}
tools:
  - {match: "*", timeout_ms: 5, max_timeout_ms: 6, max_concurrency: 7, queue: 8,)"
    R"( trust_annotations: true, idempotent: false, side_effects: true}
hooks:
  - {name: ask, type: command, tools: [a], run: [/bin/ask, -q], timeout_ms: 9}
  - {name: stop, type: deny, reason: closed}
  - {name: mend, type: replace, args: {limit: 10}}
hosts:
  - {name: memory, unix: /run/crab/memory.sock}
  - {name: east, peer: tool_host/memory-east}
pairing: {ca: /ca.pem, cert: /op.pem, key: /op.key, allow_insecure_loopback: false}
built_in_hosts: {memory: true, cron: true}
events: {retention: 12h, max_bytes: 2000000, calls: wanted, chat_answers: false}
models:
  - {model: parrot, name: polly, api: anthropic, url: "https://a/b", provider: zoo, key_env: KEY,)"
    R"( key_file: /k, allow_plain: true, ca: /ca, max_output_tokens: 5,)"
    R"( thinking_tokens: 2048, return_reasoning: true, max_retries: 1,)"
    R"( silence_s: 9}
agent: {instructions: be kind, max_rounds: 3, turn_timeout_s: 60, context_tokens: 2000,)"
    R"( output_bytes: 300, max_tools: 7, tool_tokens: 700,)"
    R"( tools: {allow: [a], deny: [b], pinned: [p]}}
agents:
  - {name: butler, instructions: serve, models: [polly], tenant: house,)"
    R"( tools: {allow: ["memory.*"], deny: [c]}, max_rounds: 4,)"
    R"( turn_timeout_s: 5, context_tokens: 3000, output_bytes: 400,)"
    R"( max_tools: 8, tool_tokens: 800, at_once: 1,
     on: [{event: "cron.*", agent_id: a, session_id: s, where: [{pointer: /job_name, glob: "m*"}],)"
    R"( prompt: go, session: agent, max_age: 5m}]}
audit: {retention_days: 30}
)";

void expect_listeners(GatewayConfig& expected) {
    expected.gateway = {
        "harbour", 3, "/srv/state", "/srv/run", {log::Level::kDebug, log::Format::kJson}};
    expected.listen.public_address = HostPort{"::", 8443};
    expected.listen.peers = HostPort{"0.0.0.0", 42618};
    expected.listen.path_prefix = "/crab";
    expected.listen.tls = TlsOptions{"/c.pem", "/k.pem"};
    expected.listen.allowed_origins = {"https://app.example"};
    expected.listen.host_names = {"crab.example"};
    expected.listen.max_connections = 11;
    expected.listen.max_connections_per_principal = 12;
    expected.listen.admin_socket = "/srv/admin.sock";
    expected.limits = {2001, 2002, 13, 14, 15, 16, 17, 18, 2003, 19s, 20, 2004};
    expected.devices = {21ms, 22s, true, false, std::chrono::days(23)};
    expected.calls = {24ms, 25ms, 1};
}

void expect_rules(GatewayConfig& expected) {
    expected.rates = {{"caller/*", "sms.*", 0.5, 3}};
    PolicyRule rule{.principal = "device/*", .roles = {"caller"}, .tenant = "harbour"};
    rule.call_allow = {"a.*"}, rule.call_deny = {"a.b"}, rule.call_needs_approval = {"a.c"};
    rule.register_allow = {"x"}, rule.register_deny = {"y"}, rule.sources = {"device/*"};
    rule.where.resize(4);
    rule.where[0] = {.pointer = "/to", .equals_json = R"({"n":1})"};
    rule.where[1] = {.pointer = "/to", .glob = "+49*"};
    rule.where[2] = {.pointer = "/to", .matches = "^a"};
    rule.where[3] = {.pointer = "/n", .min = 1, .max = 2.5};
    expected.policy = {rule};
    expected.peers = {{.id = "subscriber/log",
                       .role = "listener",
                       .tenants = {"harbour"},
                       .allow = {"events.*"},
                       .deny = {"events.publish:*"}}};
    expected.leases = {
        .ttl = 90s, .max_ttl = std::chrono::days(2), .renewal_window = 250ms, .max_per_peer = 3};
    expected.approvals = {.wait = 30s,
                          .max_waiting = 5,
                          .max_waiting_per_principal = 2,
                          .unattended = UnattendedRule::kWait,
                          .in_chat = ChatApprover::kOwner,
                          .in_mcp = ChatApprover::kOwner,
                          .new_tools = NewToolRule::kAsk};
}

void expect_tools_and_records(GatewayConfig& expected) {
    expected.tools = {{"*", 5ms, 6ms, 7, 8, true, false, true}};
    expected.hooks = {{.name = "ask",
                       .type = HookType::kCommand,
                       .tools = {"a"},
                       .run = {"/bin/ask", "-q"},
                       .timeout = 9ms},
                      {.name = "stop", .type = HookType::kDeny, .reason = "closed"},
                      {.name = "mend", .type = HookType::kReplace, .args_json = R"({"limit":10})"}};
    expected.hosts = {{.name = "memory", .unix_socket = "/run/crab/memory.sock"},
                      {.name = "east", .unix_socket = {}, .peer = "tool_host/memory-east"}};
    expected.pairing = {
        .ca = "/ca.pem", .cert = "/op.pem", .key = "/op.key", .allow_insecure_loopback = false};
    expected.built_in_hosts = {.memory = true, .cron = true};
    expected.events = {.retention = 12h,
                       .max_bytes = 2'000'000,
                       .calls = CallEventRule::kWanted,
                       .chat_answers = false};
    expected.audit.retention = std::chrono::days(30);
}

void expect_agents(GatewayConfig& expected) {
    expected.models = {{.model = "parrot",
                        .name = "polly",
                        .api = ModelApiKind::kAnthropic,
                        .url = "https://a/b",
                        .provider = "zoo",
                        .key_env = "KEY",
                        .key_file = "/k",
                        .allow_plain = true,
                        .ca = "/ca",
                        .max_output_tokens = 5,
                        .thinking_tokens = 2048,
                        .return_reasoning = true,
                        .max_retries = 1,
                        .silence = 9s}};
    expected.agent = {.instructions = "be kind",
                      .max_rounds = 3,
                      .turn_timeout = 60s,
                      .context_tokens = 2'000,
                      .output_bytes = 300,
                      .max_tools = 7,
                      .tool_tokens = 700,
                      .tools_allow = {"a"},
                      .tools_deny = {"b"},
                      .tools_pinned = {"p"}};
    expected.agents = {{.name = "butler",
                        .instructions = "serve",
                        .models = {"polly"},
                        .tenant = "house",
                        .max_rounds = 4,
                        .context_tokens = 3'000,
                        .output_bytes = 400,
                        .max_tools = 8,
                        .tool_tokens = 800,
                        .turn_timeout = 5s,
                        .tools_allow = std::vector<std::string>{"memory.*"},
                        .tools_deny = std::vector<std::string>{"c"},
                        .tools_pinned = std::vector<std::string>{},
                        .on = {{.event = "cron.*",
                                .agent_id = "a",
                                .session_id = "s",
                                .where = {{.pointer = "/job_name", .glob = "m*"}},
                                .prompt = "go",
                                .one_session = true,
                                .max_age = 5min}},
                        .at_once = 1}};
}

TEST(Load, EveryKeyReachesItsStruct) {
    const auto loaded = load(kEveryKey);
    ASSERT_TRUE(loaded) << loaded.error().message;
    GatewayConfig expected;
    expected.source = "gateway.yaml";
    expect_listeners(expected);
    expect_rules(expected);
    expect_tools_and_records(expected);
    expect_agents(expected);
    EXPECT_EQ(*loaded, expected);
}

TEST(Load, SecretsGoUnencryptedToThisMachineAndWhereThatIsAllowed) {
    for (const char* good :
         {"models: [{model: a, url: 'http://127.0.0.1:1/v1', key_env: K}]",
          "models: [{model: a, url: 'http://gpu:1/v1'}]",  // has no key
          "models: [{model: a, url: 'http://gpu', key_env: K, allow_plain: true}]",
          "tracing: {otlp: 'http://localhost:4318', headers_file: /h}",
          "tracing: {otlp: 'http://collector:4318'}",
          "tracing: {otlp: 'http://c', headers_file: /h, allow_plain: true}",
          "mcp: {servers: {a: {url: 'http://[::1]:1/mcp', auth: {headers: {A: b}}}}}",
          "mcp: {servers: {a: {url: 'http://x/mcp'}}}",
          "mcp: {servers: {a: {url: 'http://x', auth: {user: true, allow_plain: true}}}}"}) {
        const auto loaded = load(good);
        EXPECT_TRUE(loaded) << good << ": " << (loaded ? "" : loaded.error().message);
    }
}

TEST(Load, McpServersSayHowTheyAreReachedAndWhatTheyMayDo) {
    const auto loaded = load(R"(mcp:
  servers:
    files:
      command: npx
      args: [-y, "@scope/server"]
      env: {DEBUG: "1"}
      cwd: /srv
      sandbox: {read: [/data], network: host, privilege: minimal, memory_bytes: 5}
      era: legacy
      start: eager
      interactive: true
      pin: ask
      tools: {allow: ["get_*"], deny: [get_all], get_one: {timeout: 9s}, set: {idempotent: true}}
      overrides: {get_one: {side_effects: false, timeout: 3s}}
      ask: {elicitation: false, sampling: true, roots: true}
      output: strict
      instructions: pass
      timeout: 90s
)");
    ASSERT_TRUE(loaded) << loaded.error().message;
    McpServerOptions files;
    files.command = "npx";
    files.args = {"-y", "@scope/server"};
    files.env["DEBUG"].text = Secret<std::string>("1");
    files.cwd = "/srv";
    files.sandbox = McpSandboxOptions{
        .read = {"/data"}, .write = {}, .network = true, .minimal = true, .memory_bytes = 5};
    files.era = McpEra::kLegacy;
    files.eager = files.interactive = true;
    files.pin = McpPin::kAsk;
    files.tools_allow = {"get_*"};
    files.tools_deny = {"get_all"};
    files.overrides["get_one"].side_effects = false;
    files.overrides["get_one"].timeout = 3s;
    files.overrides["set"].idempotent = true;
    files.ask_elicitation = false;
    files.ask_sampling = files.ask_roots = true;
    files.output = McpOutputRule::kStrict;
    files.pass_instructions = true;
    files.timeout = 90s;
    EXPECT_EQ(loaded->mcp.servers.at("files"), files);
}

TEST(Load, McpHasAServerByUrlAndAFront) {
    const auto loaded = load(R"(mcp:
  enabled: false
  versions: ["2026-07-28"]
  names: {max: 60, dots: underscore, prefix: always}
  budget: {tokens: 4000}
  pinned: ["now"]
  page: 7
  max_reply: 65536
  poll_after: 2s
  legacy_sse: true
  input_wait: 1m
  scopes:
    kitchen:
      tools: {allow: ["tablet__*"], deny: ["*delete*"]}
      instructions: Mind the stove.
      names: {prefix: never}
      rename: {tablet__take_photo: photo}
      budget: {tools: 20}
      pinned: ["photo"]
  session_idle: 5m
  task_after: 200ms
  servers:
    hub:
      url: https://mcp.example/mcp
      tls: {ca: /etc/ca.pem, cert: /etc/me.pem, key: /etc/me.key}
      auth: {headers: {Authorization: Bearer x}}
      session: shared
)");
    ASSERT_TRUE(loaded) << loaded.error().message;
    const McpOptions& mcp = loaded->mcp;
    EXPECT_FALSE(mcp.enabled);
    EXPECT_EQ(mcp.versions, std::vector<std::string>{"2026-07-28"});
    EXPECT_EQ(
        mcp.names,
        (McpNameOptions{.prefix = McpPrefix::kAlways, .max = 60, .dots_to_underscores = true}));
    EXPECT_EQ(mcp.budget, (McpBudgetOptions{.tokens = 4000}));
    EXPECT_EQ(mcp.pinned, std::vector<std::string>{"now"});
    const McpScopeOptions kitchen{.tools_allow = {"tablet__*"},
                                  .tools_deny = {"*delete*"},
                                  .instructions = "Mind the stove.",
                                  .prefix = McpPrefix::kNever,
                                  .rename = {{"tablet__take_photo", "photo"}},
                                  .budget = {.tools = 20},
                                  .pinned = {"photo"}};
    EXPECT_EQ(mcp.scopes.at("kitchen"), kitchen);
    EXPECT_EQ(mcp.page, 7u);
    EXPECT_EQ(mcp.max_reply, 65536u);
    EXPECT_EQ(mcp.poll_after, 2s);
    EXPECT_TRUE(mcp.legacy_sse);
    EXPECT_EQ(mcp.input_wait, 1min);
    EXPECT_EQ(mcp.session_idle, 5min);
    EXPECT_EQ(mcp.task_after, 200ms);
    McpServerOptions hub;
    hub.url = "https://mcp.example/mcp";
    hub.tls = {.ca = "/etc/ca.pem", .cert = "/etc/me.pem", .key = "/etc/me.key"};
    hub.auth.headers["Authorization"].text = Secret<std::string>("Bearer x");
    hub.shared_session = true;
    EXPECT_EQ(mcp.servers.at("hub"), hub);
}

/// A document that sets every key that has a default to that default.
json::Value defaults_of(const json::Value& schema) {
    json::Value out = json::Value::object();
    for (const auto& [name, property] : *schema.find("properties")->as_object()) {
        if (const json::Value* value = property.find("default")) {
            out.set(name, *value);
        } else if (property.find("properties") && !property.find("required")) {
            out.set(name, defaults_of(property));
        }
    }
    return out;
}

TEST(Load, TheSchemasDefaultsAreTheStructsDefaults) {
    auto loaded = load(defaults_of(json::Value::parse(schema_text()).value()).dump());
    ASSERT_TRUE(loaded) << loaded.error().message;
    loaded->source.clear();
    EXPECT_EQ(*loaded, GatewayConfig{});
}

TEST(Load, AProviderOfKindGrpcHasKeysOfItsOwn) {
    const auto loaded = load(
        "providers:\n  - {id: lab, kind: grpc, address: 'far.example:50063', tls: {ca: /ca.pem, "
        "cert: /c.pem, key: /k.pem}, token_file: /t,\n"
        "     provider_id: inner, principal: peer/lab, labels: trust, ceilings: {timeout: 90s, "
        "cpu: 1s, wall: 2s, max_retries: 1, network: DENY_ALL,\n"
        "     privilege: DEFAULT}, descriptors: [{name: paint, timeout_s: 9}]}\ngrpc: {unix: "
        "/run/grpc.sock}\n");
    ASSERT_TRUE(loaded) << loaded.error().message;
    ProviderOptions expected{.id = "lab", .kind = ProviderKind::kGrpc, .labels = LabelRule::kTrust};
    expected.remote = {.service = {.address = "far.example:50063",
                                   .tls = RemoteServiceOptions::Tls{"/ca.pem", "/c.pem", "/k.pem"},
                                   .token_file = "/t"},
                       .provider_id = "inner",
                       .principal = "peer/lab",
                       .ceilings = {90s, 1s, 2s, 1, "DENY_ALL", "DEFAULT"},
                       .descriptors_json = {R"({"name":"paint","timeout_s":9})"}};
    EXPECT_EQ(loaded->providers, std::vector{expected});
    EXPECT_EQ(loaded->grpc.unix_socket, "/run/grpc.sock");
}

TEST(Load, ServicesThatAreAskedSayWhereTheyAre) {
    const auto loaded = load(
        "hitl: {address: 'desk.example:50061', tls: {ca: /ca.pem}, token_file: "
        "/t}\nworktree_service: {address: '127.0.0.1:50058'}\n");
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->hitl,
              (RemoteServiceOptions{.address = "desk.example:50061",
                                    .tls = RemoteServiceOptions::Tls{"/ca.pem", {}, {}},
                                    .token_file = "/t"}));
    EXPECT_EQ(loaded->worktree_service, (RemoteServiceOptions{.address = "127.0.0.1:50058"}));
    EXPECT_NE(problems_of("hitl: {address: 'desk.example:50061'}\n").find("set tls"),
              std::string::npos);
    EXPECT_NE(problems_of("worktree_service: {}\n").find("address"), std::string::npos);
}

TEST(Load, KeysOfOneKindOfProviderAreRefusedAtAnother) {
    EXPECT_NE(problems_of("providers:\n  - {id: lab, kind: grpc}\n").find("needs the key address"),
              std::string::npos);
    EXPECT_NE(problems_of("providers:\n  - {id: lab, kind: grpc, address: 'far.example:1'}\n")
                  .find("set tls"),
              std::string::npos);
    EXPECT_NE(
        problems_of("providers:\n  - {id: lab, kind: grpc, address: far}\n").find("host:port"),
        std::string::npos);
    EXPECT_NE(
        problems_of("providers:\n  - {id: lab, kind: grpc, address: 'unix:/s', egress: ['a:1']}\n")
            .find("only for kind: command"),
        std::string::npos);
    EXPECT_NE(problems_of("providers:\n  - {id: lab, kind: command, address: 'unix:/s'}\n")
                  .find("only for kind: grpc"),
              std::string::npos);
    EXPECT_NE(problems_of("providers:\n  - {id: lab, kind: command, labels: trust}\n")
                  .find("only for kind: grpc"),
              std::string::npos);
    EXPECT_EQ(problems_of("providers:\n  - {id: lab, kind: grpc, address: 'unix:/s'}\n"), "");
}

void expect_described(const json::Value& schema, const std::string& at) {
    EXPECT_TRUE(schema.find("description")) << at;
    const json::Value* items = schema.find("items");
    const json::Value* closed = items && items->find("properties") ? items : &schema;
    if (const json::Value* properties = closed->find("properties")) {
        ASSERT_TRUE(closed->find("additionalProperties")) << at;
        for (const auto& [name, property] : *properties->as_object())
            expect_described(property, at + "." + name);
    }
}

TEST(Load, EveryKeyOfTheSchemaIsDescribedAndEveryObjectIsClosed) {
    expect_described(json::Value::parse(schema_text()).value(), "");
}

TEST(Load, AnUnknownKeyIsAnErrorWithItsLineAndTheNameThatWasMeant) {
    EXPECT_EQ(problems_of("listen:\n  admin:\n    sockt: /x\n"),
              "gateway.yaml:3: listen.admin.sockt: unknown key; did you mean socket?");
    EXPECT_EQ(problems_of("gatway: {}\n"),
              "gateway.yaml:1: gatway: unknown key; did you mean gateway?");
    EXPECT_EQ(problems_of("rates:\n  - per_second: 1\n    zzzzzz: 2\n"),
              "gateway.yaml:3: rates[0].zzzzzz: unknown key");
}

TEST(Load, AllProblemsAreReportedAtOnceInTheOrderOfTheFile) {
    EXPECT_EQ(problems_of("gateway:\n  threads: many\n  nam: x\nlisten:\n  public: ${NOWHERE}\n  "
                          "open_loopback: 1\ncalls: []\n"),
              "gateway.yaml:2: gateway.threads: has to be a whole number\n"
              "gateway.yaml:3: gateway.nam: unknown key; did you mean name?\n"
              "gateway.yaml:5: listen.public: the environment variable NOWHERE is not set; set it "
              "or write ${NOWHERE:-default}\n"
              "gateway.yaml:6: listen.open_loopback: has to be true or false\n"
              "gateway.yaml:7: calls: has to be a mapping (key: value)");
}

TEST(Load, TheDetailsOfTheErrorListTheProblemsAsJson) {
    const auto loaded = load("gateway: {nam: x}");
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidArgs);
    EXPECT_EQ(loaded.error().details, R"({"errors":[{"line":1,"key":"gateway.nam",)"
                                      R"("message":"unknown key; did you mean name?"}]})");
}

struct BadCase {
    std::string_view text;
    std::string_view expected;
};

/// In the name that ctest lists: the same in every run, and nothing that CMake reads as its own.
void PrintTo(const BadCase& bad, std::ostream* out) {
    for (const char c : bad.text)
        *out << (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == ':' ? c : ' ');
}

class LoadRefuses : public testing::TestWithParam<BadCase> {};

TEST_P(LoadRefuses, WithASentenceThatNamesThePlace) {
    EXPECT_THAT(problems_of(GetParam().text), HasSubstr(std::string(GetParam().expected)));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, LoadRefuses,
    testing::Values(
        BadCase{"gateway: {name: 7}", "gateway.name: has to be a string; put it in quotes"},
        BadCase{"gateway: {log: {level: inof}}",
                "gateway.log.level: has to be one of debug, info, warn, error, off; did you mean "
                "info?"},
        BadCase{"gateway: {threads: 1.5}", "gateway.threads: has to be a whole number"},
        BadCase{"rates: {}", "rates: has to be a list (- item)"},
        BadCase{"rates: [{tool: a}]", "rates[0]: needs the key per_second"},
        BadCase{"rates: [{per_second: fast}]", "rates[0].per_second: has to be a number"},
        BadCase{"listen: {tls: {cert: /c}}", "listen.tls: needs the key key"},
        BadCase{"listen: {public: '0.0.0.0:42617'}",
                "listen.public: without listen.tls it has to be a loopback address"},
        BadCase{"listen: {public: '127.0.0.1:99999'}", "listen.public: has to be host:port"},
        BadCase{"listen: {public: '0.0.0.0:1', tls: {cert: /c, key: /k}, open_loopback: true}",
                "listen.open_loopback: needs a loopback"},
        BadCase{"calls: {default_timeout_ms: 200000}",
                "calls.default_timeout_ms: may not be more than calls.max_timeout_ms"},
        BadCase{"mcp: {servers: {a: {}}}", "mcp.servers.a: needs one of the keys command and url"},
        BadCase{"mcp: {servers: {a: {command: x, url: 'https://x'}}}", "needs one of the keys"},
        BadCase{"mcp: {servers: {a: {command: 'npx -y thing'}}}",
                "mcp.servers.a.command: is the program only, which no shell reads; use args"},
        BadCase{"mcp: {servers: {a: {command: '/bin/x;y'}}}",
                "mcp.servers.a.command: is the program only, which no shell reads; use args"},
        BadCase{"mcp: {servers: {a: {command: '/bin/sh|y'}}}", "no shell reads; use args"},
        BadCase{"mcp: {servers: {a: {command: \"/bin/x\\ny\"}}}", "no shell reads; use args"},
        BadCase{"mcp: {servers: {a: {command: 'javascript:alert'}}}",
                "mcp.servers.a.command: is a program, and this is a URL"},
        BadCase{"mcp: {servers: {a: {command: 'FTP://h/mcp'}}}", "and this is a URL"},
        BadCase{"mcp: {servers: {a: {command: 'http://h/mcp', args: [x]}}}", "and this is a URL"},
        BadCase{"mcp: {servers: {a: {url: 'javascript:alert'}}}", "has to begin with https://"},
        BadCase{"mcp: {servers: {a: {command: \"/bin/x\\0y\"}}}",
                "mcp.servers.a.command: has a NUL"},
        BadCase{"mcp: {servers: {a: {command: x, args: [y, \"z\\0\"]}}}",
                "mcp.servers.a.args[1]: has a NUL"},
        BadCase{"mcp: {servers: {a: {command: x, env: {Y: \"\\0z\"}}}}",
                "mcp.servers.a.env.Y: has a NUL"},
        BadCase{"mcp: {servers: {A_b: {command: x}}}", "has to be named by small letters"},
        BadCase{"mcp: {servers: {a: {command: x, arg: [y]}}}",
                "mcp.servers.a.arg: unknown key; did you mean args?"},
        BadCase{"mcp: {servers: {a: {command: x, timeout: soon}}}",
                "mcp.servers.a.timeout: has to be a duration such as"},
        BadCase{"mcp: {servers: {a: {url: 'ftp://x'}}}", "has to begin with https://"},
        BadCase{"mcp: {servers: {a: {url: 'https://u:p@x/mcp'}}}",
                "mcp.servers.a.url: has to be a URL without user"},
        BadCase{"mcp: {servers: {a: {url: 'https://x y/'}}}", "mcp.servers.a.url: has to be a URL"},
        BadCase{"mcp: {servers: {a: {command: x, era: sse}}}",
                "mcp.servers.a.era: can be sse only"},
        BadCase{"mcp: {servers: {a: {command: x, env: {'A=B': c}}}}",
                "is not the name of a variable"},
        BadCase{"mcp: {servers: {a: {url: 'https://x', auth: {headers: {'X Y': z}}}}}",
                "mcp.servers.a.auth.headers.X Y: is not named like a header field"},
        BadCase{"mcp: {servers: {a: {url: 'https://x', auth: {headers: {Host: z}}}}}",
                "that the gateway writes itself"},
        BadCase{"mcp: {servers: {a: {url: 'https://x', auth: {headers: {X: \"a\\nb\"}}}}}",
                "has a line break"},
        BadCase{"mcp: {servers: {a: {url: 'https://x', auth: {client_credentials: {issuer: "
                "'https://i', client_id: c}}}}}",
                "client_credentials: needs one of the keys client_secret and key_file"},
        BadCase{"mcp: {servers: {a: {url: 'https://x', auth: {client_credentials: {issuer: "
                "'http://i', client_id: c, client_secret: s}}}}}",
                "client_credentials.issuer: has to be the https URL"},
        BadCase{"mcp: {servers: {a: {url: 'https://x', auth: {headers: {X: y}, client: {issuer: "
                "'https://i', client_id: c}}}}}",
                "mcp.servers.a.auth.client: is for logins of people"},
        BadCase{
            "mcp: {servers: {a: {url: 'https://x', auth: {headers: {X: '${file:/none/tok}'}}}}}",
            "mcp.servers.a.auth.headers.X: cannot read the file /none/tok"},
        BadCase{"mcp: {servers: {a: {command: x, start_timeout: 0s}}}",
                "mcp.servers.a.start_timeout: has to be more than 0s"},
        BadCase{"mcp: {servers: {a: {command: x, overrides: {t: {timeout: 1h}}}}}",
                "mcp.servers.a.overrides.t.timeout: may not be more than max_timeout"},
        BadCase{"mcp: {servers: {a: {command: x, tools: {t: {timeout: 1h}}}}}",
                "mcp.servers.a.tools.t.timeout: may not be more than max_timeout"},
        BadCase{"mcp: {servers: {a: {command: x, tools: {alow: ['*']}}}}",
                "mcp.servers.a.tools.alow"},
        BadCase{"mcp: {scopes: {a: {rename: {b: d, c: d}}}}",
                "mcp.scopes.a.rename.c: gives a name that b has, too"},
        BadCase{"mcp: {names: {max: 16}, scopes: {a: {rename: {b: a_name_that_is_long}}}}",
                "mcp.scopes.a.rename.b: is longer than mcp.names.max"},
        BadCase{"mcp: {client_metadata_url: 'http://gw.example/c'}",
                "mcp.client_metadata_url: has to be an https URL with a path"},
        BadCase{"mcp: {keepalive: 5ms}", "mcp.keepalive: has to be at least 100ms"},
        BadCase{"mcp: {keepalive: 0s}", "mcp.keepalive: has to be more than 0s"},
        BadCase{"mcp: {oauth: {issuer: here, resource: 'https://gw/mcp'}}",
                "mcp.oauth.issuer: has to be an https URL"},
        BadCase{"mcp: {oauth: {issuer: 'https://i', resource: 'https://GW/mcp'}}",
                "mcp.oauth.resource: has to be the https URL of the endpoint"},
        BadCase{
            "mcp: {oauth: {issuer: 'https://i', resource: 'https://gw/mcp', jwks: 'http://i/j'}}",
            "mcp.oauth.jwks: has to be an https URL"},
        BadCase{
            "mcp: {oauth: {issuer: 'https://i', resource: 'https://gw/mcp', introspection: {url: "
            "x}}}",
            "mcp.oauth.introspection.url: has to be an https URL"},
        BadCase{
            "mcp: {oauth: {issuer: 'https://i', resource: 'https://gw/mcp', introspection: {url: "
            "'https://i/x', client_secret: s}}}",
            "mcp.oauth.introspection.client_secret: needs client_id"},
        BadCase{
            "mcp: {oauth: {issuer: 'https://i', resource: 'https://gw/mcp', scopes: [ok, 'a b']}}",
            "mcp.oauth.scopes[1]: has to be a word"},
        BadCase{"mcp: {oauth: {issuer: 'https://i', resource: 'https://gw/mcp', scopes: "
                "[offline_access]}}",
                "mcp.oauth.scopes[0]: is no scope of a resource"},
        BadCase{"mcp: {oauth: {issuer: 'https://i'}}", "resource"},
        BadCase{"mcp: {servers: {a: {url: 'https://x', cwd: /}}}", "are only for a command"},
        BadCase{"mcp: {servers: {a: {command: x, auth: {user: true}}}}", "is only for a url"},
        BadCase{"mcp: {servers: {a: {url: 'http://x', tls: {ca: /c}}}}",
                "mcp.servers.a.tls: is only for a url that begins with https://"},
        BadCase{"mcp: {servers: {a: {url: 'https://x', tls: {cert: /c}}}}",
                "mcp.servers.a.tls: needs cert and key together"},
        BadCase{"mcp: {scopes: {A_b: {}}}", "has to be named by small letters"},
        BadCase{"mcp: {scopes: {sse: {}}}", "mcp.scopes.sse: is the name of another path"},
        BadCase{"mcp: {scopes: {a: {rename: {b: 'c d'}}}}",
                "mcp.scopes.a.rename.b: has to be a name such as take_photo"},
        BadCase{"mcp: {versions: ['2025-11-26']}", "mcp.versions[0]: has to be one of"},
        BadCase{"tools: [{match: a, timeout_ms: 3, max_timeout_ms: 2}]",
                "tools[0].timeout_ms: may not be more"},
        BadCase{"gateway: {log: {levels: {trusst: debug}}}",
                "gateway.log.levels.trusst: is no part of crab"},
        BadCase{"policy: [{principal: a, roles: [calle]}]", "policy[0].roles[0]: has to be one of"},
        BadCase{"policy: [{principal: a, where: [{pointer: /x}]}]",
                "policy[0].where[0]: needs one of"},
        BadCase{"policy: [{principal: a, where: [{pointer: /x, min: 2, max: 1}]}]",
                "where[0].min: may not be more than max"},
        BadCase{"peers: [{id: log}]", "peers[0].id: has to be a peer such as subscriber/log"},
        BadCase{"peers: [{role: subscriber}]", "peers[0]: needs the key id"},
        BadCase{"peers: [{id: subscriber/log, role: subscribe}]",
                "peers[0].role: has to be one of"},
        BadCase{"peers: [{id: subscriber/log}, {id: subscriber/log}]",
                "peers[1].id: another entry has this id; say all of a peer in one"},
        BadCase{"events: {calls: some}", "events.calls: has to be one of"},
        BadCase{"events: {max_bytes: 1}", "events.max_bytes: has to be"},
        BadCase{"peers: [{id: subscriber/log, role: tool_host}]",
                "peers[0].role: is only for peers whose id begins with tool_host/"},
        BadCase{"leases: {ttl: 25h}", "leases.ttl: may not be more than leases.max_ttl"},
        BadCase{"leases: {ttl: 1 hour}", "leases.ttl: has to be a duration such as 500ms"},
        BadCase{"hooks: [{name: a, type: command}]", "hooks[0]: a command hook needs the key run"},
        BadCase{"hooks: [{name: a, type: command, run: [ask]}]",
                "hooks[0].run[0]: has to be the absolute path"},
        BadCase{"hooks: [{name: a, type: deny}]", "hooks[0]: a deny hook needs the key reason"},
        BadCase{"hooks: [{name: a, type: replace}]", "hooks[0]: a replace hook needs the key args"},
        BadCase{"hooks: [{name: a, type: deny, reason: r}, {name: a, type: deny, reason: r}]",
                "hooks[1].name: another hook has this name"},
        BadCase{"hosts: [{name: a}]", "hosts[0]: needs one of the keys unix and peer"},
        BadCase{"hosts: [{name: a, unix: /a, peer: tool_host/a}]",
                "hosts[0]: needs one of the keys unix and peer"},
        BadCase{"hosts: [{name: a, peer: subscriber/a}]",
                "hosts[0].peer: has to be a paired tool host such as tool_host/memory"},
        BadCase{"pairing: {ca: /ca.pem}", "pairing: ca, cert and key belong together"},
        BadCase{"listen: {peers: '127.0.0.1:99999'}", "listen.peers: has to be host:port"},
        BadCase{"hosts: [{name: a, unix: run/a.sock}]",
                "hosts[0].unix: has to be the absolute path of a socket"},
        BadCase{"hosts: [{name: a, unix: /a}, {name: a, unix: /b}]",
                "hosts[1].name: another host has this name"},
        BadCase{"hosts: [{name: a_b/c, unix: /a}]", "hosts[0].name"},
        BadCase{"hosts: [{name: a}]", "hosts[0]"},
        BadCase{"models: [{url: 'http://a'}]", "models[0]: needs the key model"},
        BadCase{"models: [{model: a, url: a}]",
                "models[0].url: has to be an address such as https://"},
        BadCase{"models: [{model: a, url: 'http://10.0.0.1/v1', key_env: K}]",
                "models[0].url: is http on another machine"},
        BadCase{"models: [{model: a, url: 'http://gpu', key_file: /k, allow_plain: false}]",
                "models[0].url: is http on another machine"},
        BadCase{"tracing: {otlp: 'http://collector:4318', headers_file: /h}",
                "tracing.otlp: is http on another machine"},
        BadCase{"mcp: {servers: {a: {url: 'http://x/mcp', auth: {headers: {A: b}}}}}",
                "mcp.servers.a.url: is http on another machine"},
        BadCase{"mcp: {servers: {a: {url: 'http://10.0.0.1', auth: {user: true}}}}",
                "mcp.servers.a.url: is http on another machine"},
        BadCase{"models: [{model: a, key: sk-1}]", "models[0].key: unknown key"},
        BadCase{"models: [{model: a}, {model: b, name: a}]",
                "models[1]: another model has this name"},
        BadCase{"models: [{model: a, api: anthropic, thinking_tokens: 5}]",
                "models[0].thinking_tokens: is for api: anthropic"},
        BadCase{"agents: [{name: crab}]", "agents[0].name: is the name of the standard agent"},
        BadCase{"agents: [{name: a}, {name: a}]", "agents[1].name: another agent has this name"},
        BadCase{"agents: [{name: 分身}, {name: ' 分身 '}]",
                "agents[1].name: another agent has this name"},
        BadCase{"agents: [{name: \"a\\nb\"}]",
                "agents[0].name: a name holds no control characters"},
        BadCase{"agents: [{name: 'a*'}]", "agents[0].name: holds none of * ? /"},
        BadCase{"agents: [{name: a, models: [x]}]", "agents[0].models[0]: is not a name of models"},
        BadCase{"agents: [{name: a, at_once: 2, on: [{event: cron.triggered, session: agent}]}]",
                "agents[0].at_once: has to be 1"},
        BadCase{"agent: {max_rounds: 0}", "agent.max_rounds: has to be at least 1"},
        BadCase{"gateway: {name: a}\ngateway: {name: b}", "gateway.yaml:2: gateway: is set twice"},
        BadCase{"gateway: {threads: .inf}", "gateway.threads: has to be a finite number"},
        BadCase{"gateway: {name: !thing x}", "gateway.name: tags are not supported"},
        BadCase{"gateway: [", "gateway.yaml:1: is not YAML"}, BadCase{"[1]", "has to be a mapping"},
        BadCase{"? [a]\n: b", "keys have to be strings"},
        BadCase{"a: &x [*x]", "an alias may not stand inside"},
        BadCase{"{}\n---\n{}\n", "more than one document"},
        BadCase{"gateway: {threads: 5000}", "gateway.threads: has to be at most 1024"},
        BadCase{"limits: {json_depth: 1}", "limits.json_depth: has to be at least 4"},
        BadCase{"rates: [{per_second: 0}]", "rates[0].per_second: has to be more than 0"},
        BadCase{"gateway: {name: 'no spaces'}", "gateway.name: has to be a name such as kitchen"},
        BadCase{"gateway: {name: ''}", "gateway.name: "},
        BadCase{"listen: {path_prefix: x/}", "listen.path_prefix: has to be a path such as /crab"},
        BadCase{"listen: {public: here}",
                "listen.public: has to be an address with a port such as 127.0.0.1:42617"},
        BadCase{"policy: [{principal: '', roles: []}]", "policy[0].principal: may not be empty"},
        BadCase{"policy: [{principal: a, where: [{pointer: x, min: 1}]}]",
                "policy[0].where[0].pointer: has to be a JSON pointer such as /path"},
        BadCase{"gateway: {name: 'a${'}", "gateway.name: a ${ has no } after it"},
        BadCase{"gateway: {name: '${not a name}'}", "is not a reference"},
        BadCase{"gateway: {name: '${file:/nowhere/at/all}'}",
                "gateway.name: cannot read the file /nowhere/at/all"}));

TEST(Load, LargeDeepAndRepeatedTextIsStoppedEarly) {
    EXPECT_THAT(problems_of(std::string((1 << 20) + 1, '#')), HasSubstr("more than 1048576 bytes"));
    EXPECT_THAT(problems_of(std::string(40, '[') + std::string(40, ']')),
                HasSubstr("nested deeper than 32"));
    std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 10; ++i) {
        laughs += fmt::format(
            "a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n",
            i, i - 1);
    }
    EXPECT_THAT(problems_of(laughs), HasSubstr("more than 100000 values"));
}

TEST(Load, AnAliasRepeatsWhatItNames) {
    const auto loaded = load("rates:\n  - &slow {per_second: 1, tool: a}\n  - *slow\n");
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->rates.at(1), loaded->rates.at(0));
}

TEST(Load, ScalarsAreThoseOfYaml12AndQuotedTextStaysText) {
    const auto loaded = load(
        "gateway: {name: '42', threads: 0x10}\nlisten: {public: off, host_names: [yes, no, '1', "
        "\"true\"]}\n");
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->gateway.name, "42");
    EXPECT_EQ(loaded->gateway.threads, 16u);
    EXPECT_EQ(loaded->listen.public_address, std::nullopt);
    EXPECT_THAT(loaded->listen.host_names, ElementsAre("yes", "no", "1", "true"));
}

TEST(Load, EnvironmentVariablesStandWhereTheyAreNamed) {
    const auto loaded = load(
        "gateway: {name: 'a-${env:HOST}', threads: '${THREADS}'}\nlisten:\n  open_loopback: "
        "${OPEN:-true}\n"
        "calls: {max_retries: '${env:RETRIES:-1}'}\naudit:\n  retention_days: ${EMPTY:-7}\n",
        {{"HOST", "box"}, {"THREADS", "4"}, {"EMPTY", ""}});
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->gateway.name, "a-box");
    EXPECT_EQ(loaded->gateway.threads, 4u);
    EXPECT_TRUE(loaded->listen.open_loopback);
    EXPECT_EQ(loaded->calls.max_retries, 1u);
    EXPECT_EQ(loaded->audit.retention, std::chrono::days(7));
}

TEST(Load, ADigitStringFromTheEnvironmentStaysAStringWhereOneIsExpected) {
    const auto loaded = load("gateway:\n  name: ${NAME}\n", {{"NAME", "42"}});
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->gateway.name, "42");
    EXPECT_THAT(problems_of("gateway: {threads: '${N}0'}", {{"N", "4"}}),
                HasSubstr("has to be a whole number"))
        << "not only a reference";
}

TEST(Load, ReplacementsAreNotLookedAtAgainAndADoubledDollarIsOne) {
    const auto loaded = load("hooks: [{name: a, type: deny, reason: '${A} $${B} $C'}]",
                             {{"A", "${B}"}, {"B", "wrong"}});
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->hooks.at(0).reason, "${B} ${B} $C");
}

class LoadFile : public testing::Test {
protected:
    LoadFile()
        : folder_(std::filesystem::temp_directory_path() /
                  fmt::format("crab-load-test-{}", ::getpid())) {
        std::filesystem::create_directories(folder_);
    }
    ~LoadFile() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path write(std::string_view name, std::string_view text) {
        std::ofstream(folder_ / name) << text;
        return folder_ / name;
    }
    std::filesystem::path folder_;
};

TEST_F(LoadFile, FileReferencesStartAtTheFolderOfTheFileAndLoseTheirLineEnd) {
    write("secret", "s3cret\n");
    const auto loaded =
        load_file(write("gateway.yaml", "hooks: [{name: a, type: deny, reason: '${file:secret}'}]"),
                  environment_of({}));
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->hooks.at(0).reason, "s3cret");
}

TEST_F(LoadFile, AMessageNeverShowsWhatAReferenceHeld) {
    write("secret", "s3cret\n");
    const auto loaded = load_file(write("gateway.yaml",
                                        "gateway: {threads: '${file:secret}', log: {level: "
                                        "'${file:secret}'}}\nlisten: {public: '${file:secret}'}"),
                                  environment_of({}));
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().message, testing::Not(HasSubstr("s3cret")));
}

TEST_F(LoadFile, AMissingFileIsNotFoundAndADirectoryIsRefused) {
    EXPECT_EQ(load_file(folder_ / "none.yaml").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(load_file(folder_).error().code, ErrorCode::kInvalidArgs);
}

TEST_F(LoadFile, TheFirstCandidateThatExistsIsReadAndNoneGivesTheDefaults) {
    Paths paths;
    paths.user_config = folder_ / "user.yaml";
    paths.system_config = folder_ / "system.yaml";
    EXPECT_EQ(load_first({}, paths).value(), GatewayConfig{});
    const auto named = load_first(folder_ / "none.yaml", paths);
    ASSERT_FALSE(named) << "a file that was named has to be there";
    EXPECT_EQ(named.error().code, ErrorCode::kInvalidArgs);
    EXPECT_THAT(named.error().message, HasSubstr("none.yaml"));
    write("system.yaml", "gateway: {name: system}");
    EXPECT_EQ(load_first({}, paths)->gateway.name, "system");
    write("user.yaml", "gateway: {name: user}");
    EXPECT_EQ(load_first({}, paths)->gateway.name, "user");
    EXPECT_EQ(load_first(folder_ / "system.yaml", paths)->source, folder_ / "system.yaml");
}

TEST(HostPort, ReadsWhatItWrites) {
    for (const char* text : {"127.0.0.1:42617", "[::1]:1", "localhost:0", "crab.example:65535"}) {
        ASSERT_TRUE(HostPort::parse(text)) << text;
        EXPECT_EQ(HostPort::parse(text)->to_text(), text);
    }
    for (const char* text :
         {"", ":1", "a", "a:", "a:b", "a:65536", "a:-1", "::1:5", "[::1]", "[x]:1"})
        EXPECT_FALSE(HostPort::parse(text)) << text;
    EXPECT_TRUE(HostPort::parse("127.9.9.9:1")->is_loopback());
    EXPECT_TRUE(HostPort::parse("[::1]:1")->is_loopback());
    EXPECT_FALSE(HostPort::parse("0.0.0.0:1")->is_loopback());
}

/// Every place of the schema that has a pattern.
void look_for_patterns(const json::Value& node, const std::string& at,
                       std::vector<std::string>& without_words) {
    if (node.find("pattern") && node.find("pattern")->as_string()) {
        const json::Value* const form = node.find("x-form");
        if (!form || !form->as_string() || form->as_string()->find("such as") == std::string::npos)
            without_words.push_back(at);
    }
    if (const auto* members = node.as_object()) {
        for (const auto& [name, member] : *members)
            look_for_patterns(member, at + "/" + name, without_words);
    }
}

TEST(Load, NoPatternIsEverShownToPeople) {
    std::vector<std::string> without_words;
    look_for_patterns(json::Value::parse(schema_text()).value(), "", without_words);
    EXPECT_THAT(without_words, testing::IsEmpty()) << "x-form says what such a value looks like";
}

}  // namespace
}  // namespace crab::config
