#pragma once

#include "base/clock.hpp"
#include "base/log.hpp"
#include "config/config_origin.hpp"
#include "config/mcp_options.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// The configuration file as plain values. Every default here is also the `default` of
/// spec/config.schema.json; a test compares them. Globs use `*` and `?`.
namespace crab::config {

/// An address to listen on. `host` is a name or an IP literal without brackets; port 0 lets the
/// system choose.
struct HostPort {
    std::string host;
    std::uint16_t port = 0;

    bool is_loopback() const;
    /// `host:port`, an IPv6 literal in brackets.
    std::string to_text() const;
    /// The inverse of to_text(); nothing for any other text.
    static std::optional<HostPort> parse(std::string_view text);
    friend bool operator==(const HostPort&, const HostPort&) = default;
};

struct LogOptions {
    log::Level level = log::Level::kInfo;
    log::Format format = log::Format::kText;
    log::PartLevels levels;  ///< of parts, in place of `level`
    friend bool operator==(const LogOptions&, const LogOptions&) = default;
};

struct GatewayOptions {
    std::string name = "crab";
    std::size_t threads = 0;            ///< 0: one per core
    std::filesystem::path state_dir;    ///< empty: Paths decides
    std::filesystem::path runtime_dir;  ///< empty: Paths decides
    LogOptions log;
    friend bool operator==(const GatewayOptions&, const GatewayOptions&) = default;
};

struct TlsOptions {
    std::filesystem::path cert;  ///< PEM, leaf first
    std::filesystem::path key;   ///< PEM
    friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

/// `listen.console`: whom the console on the public listener lets in.
enum class ConsoleAccess : std::uint8_t { kOff, kOperators, kPeople };

/// `listen.public`: devices, HTTP callers, chat, console.
struct ListenOptions {
    std::optional<HostPort> public_address = HostPort{"127.0.0.1", 42617};  ///< nothing: off
    std::string path_prefix;  ///< empty, or `/` and more, without a `/` at the end
    std::optional<TlsOptions> tls;
    std::vector<std::string> allowed_origins;
    std::vector<std::string> host_names;
    bool open_loopback = false;
    bool device_page = true;
    ConsoleAccess console = ConsoleAccess::kOff;
    std::size_t max_connections = 10'000;
    std::size_t max_connections_per_principal = 32;
    std::filesystem::path admin_socket;  ///< empty: Paths decides
    std::optional<HostPort> peers;  ///< `listen.peers`: paired peers over mTLS; nothing: off
    friend bool operator==(const ListenOptions&, const ListenOptions&) = default;
};

/// `grpc`: callers that speak sw4rm's ToolService.
struct GrpcOptions {
    std::optional<HostPort> address;  ///< nothing: off
    std::optional<TlsOptions> tls;
    std::filesystem::path unix_socket;  ///< empty: none
    bool open_loopback = false;
    std::size_t max_connections = 1'000;
    friend bool operator==(const GrpcOptions&, const GrpcOptions&) = default;
};

struct LimitOptions {
    std::size_t message_bytes = 16'777'216;
    std::size_t request_body_bytes = 1'048'576;
    std::size_t json_depth = 64;
    std::size_t tools_per_connection = 256;
    std::size_t tool_name = 128;
    std::size_t description_bytes = 8'192;
    std::size_t parameters_bytes = 65'536;
    std::size_t calls_per_connection = 64;
    std::size_t outgoing_queue_bytes = 8'388'608;
    std::chrono::seconds slow_reader{10};
    std::size_t waiting_turns = 8;
    std::size_t result_bytes = 16'777'216;
    friend bool operator==(const LimitOptions&, const LimitOptions&) = default;
};

struct DeviceOptions {
    Milliseconds grace{15'000};
    std::chrono::seconds ping_after{20};
    bool permessage_deflate = false;
    bool query_token = true;
    std::chrono::days token_lifetime{365};
    friend bool operator==(const DeviceOptions&, const DeviceOptions&) = default;
};

/// `artifacts`: large results that devices upload.
struct ArtifactOptions {
    std::size_t max_bytes = 67'108'864;  ///< of one
    std::size_t inline_bytes = 262'144;  ///< above this, results should be uploaded
    std::size_t tenant_bytes = 1'073'741'824;  ///< of all of a tenant
    std::size_t total_bytes = 4'294'967'296;
    std::size_t uploads = 64;  ///< at once
    Milliseconds ttl{std::chrono::hours(24)};
    friend bool operator==(const ArtifactOptions&, const ArtifactOptions&) = default;
};

/// `fleet`: stores in a database instead of files; with `nats`, many gateways as one.
struct FleetOptions {
    std::string name;
    std::string node_name;  ///< empty without `nats`
    std::filesystem::path key_file;
    struct Nats {
        std::vector<std::string> urls;
        std::filesystem::path user_file;  ///< empty: without a password
        friend bool operator==(const Nats&, const Nats&) = default;
    };
    std::optional<Nats> nats;  ///< nothing: this gateway has the database alone
    /// How long a node that is cut off from database and NATS believes the tokens that it knows
    Milliseconds trust_stale{60'000};
    std::filesystem::path dsn_file;  ///< `postgres.dsn_file`: holds the address of the database
    bool require_sync = true;  ///< `postgres.require_sync`
    friend bool operator==(const FleetOptions&, const FleetOptions&) = default;
};

/// `tracing`: spans of calls for an OpenTelemetry collector.
struct TracingOptions {
    std::string otlp;  ///< URL of its OTLP/HTTP receiver; empty: what the environment says
    std::filesystem::path headers_file, ca;
    bool allow_plain = false;  ///< header fields may go to http on another machine
    double sample = 0.1;  ///< share of the traces
    std::vector<std::string> always{"errors", "slow:1s"};
    friend bool operator==(const TracingOptions&, const TracingOptions&) = default;
};

/// `push`: messages to browsers of which no page is open.
struct PushOptions {
    std::vector<std::string> services;  ///< origins of push services that may be anywhere
    std::string contact;  ///< `mailto:` or `https:`, for push services; empty: made of a host name
    friend bool operator==(const PushOptions&, const PushOptions&) = default;
};

/// `metrics`: what is counted beyond what always is.
struct MetricsOptions {
    std::vector<std::string> tools;  ///< globs of tools that are counted by name
    friend bool operator==(const MetricsOptions&, const MetricsOptions&) = default;
};

struct CallOptions {
    Milliseconds default_timeout{30'000};
    Milliseconds max_timeout{120'000};
    std::size_t max_retries = 2;
    friend bool operator==(const CallOptions&, const CallOptions&) = default;
};

/// At most `per_second` calls on average and `burst` at once, for each principal that matches, for
/// the tools that match.
struct RateRule {
    std::string principal = "*";
    std::string tool = "*";
    double per_second = 0;
    double burst = 1;
    friend bool operator==(const RateRule&, const RateRule&) = default;
};

/// A condition on one value in the arguments; at least one test is set, and all that are set must
/// hold.
struct ArgumentCondition {
    std::string pointer;  ///< RFC 6901
    std::optional<std::string> equals_json;  ///< a JSON value as text
    std::optional<std::string> glob;
    std::optional<std::string> matches;  ///< RE2
    std::optional<double> min;
    std::optional<double> max;
    friend bool operator==(const ArgumentCondition&, const ArgumentCondition&) = default;
};

/// Rights of the principals that match a glob; deny wins over allow, within and across rules.
struct PolicyRule {
    std::string principal;
    std::vector<std::string> roles;  ///< names as core::find_role() knows them; empty: any
    std::optional<std::string> tenant;  ///< glob
    std::vector<std::string> call_allow, call_deny, call_needs_approval;  ///< tool globs
    std::vector<std::string> register_allow, register_deny;  ///< tool globs
    std::vector<std::string> sources;  ///< globs such as `device/*`; empty: any
    std::optional<std::string> effects;  ///< `none` or `possible`; unset: any
    std::vector<ArgumentCondition> where;  ///< all must hold for the rule to apply
    std::vector<std::string> act_for;  ///< globs of agents
    friend bool operator==(const PolicyRule&, const PolicyRule&) = default;
};

/// Role and rights of one paired peer, in addition to its role's defaults.
struct PeerOptions {
    std::string id;  ///< `<component_type>/<component_id>`
    /// A name as core::find_role() knows it; unset: that of the component type
    std::optional<std::string> role;
    std::vector<std::string> tenants;  ///< globs; empty: the default tenant
    std::vector<std::string> allow, deny;  ///< globs of actions
    friend bool operator==(const PeerOptions&, const PeerOptions&) = default;
};

/// Leases: scoped grants that peers ask for.
struct LeaseOptions {
    Milliseconds ttl = std::chrono::hours(1);  ///< of a lease request without a TTL
    Milliseconds max_ttl = std::chrono::hours(24);
    /// How long before its end it can be renewed
    Milliseconds renewal_window = std::chrono::minutes(5);
    std::size_t max_per_peer = 16;
    friend bool operator==(const LeaseOptions&, const LeaseOptions&) = default;
};

/// How to treat a call that needs an approval when nobody can be asked.
enum class UnattendedRule : std::uint8_t { kRefuse, kWait };
/// Who may approve the calls of a chat within that chat.
enum class ChatApprover : std::uint8_t { kOperator, kOwner };
/// How to treat tools that a known device has not offered before.
enum class NewToolRule : std::uint8_t { kAllow, kAsk };
/// Settings of approvals.
struct ApprovalOptions {
    Milliseconds wait = std::chrono::seconds(60);
    std::size_t max_waiting = 256;
    std::size_t max_waiting_per_principal = 16;
    UnattendedRule unattended = UnattendedRule::kRefuse;
    ChatApprover in_chat = ChatApprover::kOperator;
    ChatApprover in_mcp = ChatApprover::kOperator;
    NewToolRule new_tools = NewToolRule::kAllow;
    friend bool operator==(const ApprovalOptions&, const ApprovalOptions&) = default;
};

/// Which calls have events.
enum class CallEventRule : std::uint8_t {
    kEffects,  ///< those with side effects, and others while there are subscribers
    kAll,
    kWanted,  ///< only while there are subscribers
};
/// Events and the outbox that stores them.
struct EventOptions {
    Milliseconds retention = std::chrono::hours(24 * 7);
    std::size_t max_bytes = std::size_t{1} << 30;
    CallEventRule calls = CallEventRule::kEffects;
    bool chat_answers = true;
    friend bool operator==(const EventOptions&, const EventOptions&) = default;
};

/// The operator's overrides for tools that match a glob; unset members keep the tool's own claims.
struct ToolOverride {
    std::string match;
    std::optional<Milliseconds> timeout, max_timeout;
    std::optional<std::size_t> max_concurrency, queue;
    std::optional<bool> trust_annotations, idempotent, side_effects;
    friend bool operator==(const ToolOverride&, const ToolOverride&) = default;
};

enum class HookType : std::uint8_t { kCommand, kDeny, kReplace };

/// Code or a fixed answer before a call.
struct HookRule {
    std::string name;
    HookType type = HookType::kCommand;
    std::vector<std::string> tools{"*"};  ///< globs
    std::vector<std::string> run;  ///< command: program and arguments
    Milliseconds timeout{5'000};  ///< command: exceeding it denies the call
    std::string reason;  ///< deny: the message for the caller
    std::string args_json;  ///< replace: a merge patch (RFC 7396) for the arguments
    friend bool operator==(const HookRule&, const HookRule&) = default;
};

/// A tool host: one behind a Unix socket, whose tools are `<name>__<tool>`, or a paired peer.
struct ToolHostOptions {
    std::string name;
    std::filesystem::path unix_socket;  ///< absolute; empty for a peer
    std::string peer;  ///< `tool_host/<component_id>`; empty for a socket
    friend bool operator==(const ToolHostOptions&, const ToolHostOptions&) = default;
};

/// A folder that commands work in.
struct WorktreeOptions {
    std::string id;  ///< `<repo>/<worktree>`
    std::filesystem::path path;  ///< relative to the configuration file's folder, or absolute
    bool read_only = false;
    /// Commands that write in it are ended beyond this size
    std::size_t max_bytes = 10'737'418'240;
    friend bool operator==(const WorktreeOptions&, const WorktreeOptions&) = default;
};

enum class ProviderKind : std::uint8_t { kCommand, kGrpc };
/// How to treat a label that cannot be enforced.
enum class LabelRule : std::uint8_t { kEnforce, kAdvisory, kTrust };

/// A gRPC server that the gateway calls.
struct RemoteServiceOptions {
    struct Tls {
        std::filesystem::path ca, cert, key;
        friend bool operator==(const Tls&, const Tls&) = default;
    };
    std::string address;  ///< `host:port` or `unix:/path`
    std::optional<Tls> tls;
    std::filesystem::path token_file;  ///< empty: no token is sent
    friend bool operator==(const RemoteServiceOptions&, const RemoteServiceOptions&) = default;
};

/// Options of providers of kind `grpc`.
struct RemoteProviderOptions {
    struct Ceilings {
        std::optional<std::chrono::milliseconds> timeout, cpu, wall;
        std::optional<std::size_t> max_retries;
        std::string network, privilege;
        friend bool operator==(const Ceilings&, const Ceilings&) = default;
    };
    RemoteServiceOptions service;
    std::string provider_id;  ///< stated in calls; empty: none
    std::string principal;  ///< who may register its tools; empty: nobody
    Ceilings ceilings;
    std::vector<std::string> descriptors_json;  ///< each as JSON text; adapters/sw4rm reads them
    friend bool operator==(const RemoteProviderOptions&, const RemoteProviderOptions&) = default;
};

/// A source of tools with a name of its own; its tools are `<id>__<tool>` as well.
struct ProviderOptions {
    std::string id;
    ProviderKind kind = ProviderKind::kCommand;
    std::string worktree;  ///< for callers bound nowhere else
    std::vector<std::string> egress;  ///< `host:port`, `*.host:port`
    LabelRule labels = LabelRule::kEnforce;
    bool worktree_preset = false;  ///< adds the built-in worktree tools
    bool run = false;  ///< with the preset: `run` as well
    std::vector<std::string> tools_json;  ///< each as JSON text; hosts/command reads them
    RemoteProviderOptions remote;
    friend bool operator==(const ProviderOptions&, const ProviderOptions&) = default;
};

/// A secret that must not appear in any log, audit record or answer: where it is read from at
/// start.
struct SecretOptions {
    std::string name;
    std::string env;  ///< environment variable; empty: `file`
    std::filesystem::path file;  ///< its content without the line end
    friend bool operator==(const SecretOptions&, const SecretOptions&) = default;
};

/// Which built-in tool hosts run inside the gateway.
struct BuiltInHostOptions {
    bool memory = false;
    bool cron = false;
    friend bool operator==(const BuiltInHostOptions&, const BuiltInHostOptions&) = default;
};

/// The protocol of a model's server.
enum class ModelApiKind : std::uint8_t { kOpenAi, kAnthropic };

/// A model for turns. The key itself is never a configuration value.
struct ModelOptions {
    std::string model;  ///< as its server names it
    std::string name;  ///< what agents call it; empty: `model`
    ModelApiKind api = ModelApiKind::kOpenAi;
    std::string url;  ///< base address; empty: the vendor's own
    std::string provider;  ///< for people; empty: the host of `url`
    std::string key_env;  ///< environment variable that holds the key; empty: none
    std::filesystem::path key_file;  ///< file that holds the key; empty: none
    bool allow_plain = false;  ///< the key may go to http on another machine
    std::filesystem::path ca;  ///< PEM of the authorities for https; empty: the system's
    std::size_t max_output_tokens = 0;  ///< 0: the vendor's limit
    std::size_t thinking_tokens = 0;  ///< anthropic: for thinking; 0: none
    bool vision = false;  ///< it accepts pictures
    bool return_reasoning = false;  ///< openai: its reasoning is returned to it within a turn
    std::size_t max_retries = 3;
    std::chrono::seconds silence{120};  ///< longest time without a byte of an answer
    friend bool operator==(const ModelOptions&, const ModelOptions&) = default;
};

/// Options of turns.
struct AgentOptions {
    std::string instructions;  ///< the system prompt; empty: crab's own
    std::size_t max_rounds = 25;
    std::chrono::seconds turn_timeout{600};
    std::size_t context_tokens = 32'768;
    std::size_t output_bytes = 65'536;
    std::size_t max_tools = 128;
    std::size_t tool_tokens = 16'384;
    /// Globs; without an allow list: all that are not denied
    std::vector<std::string> tools_allow, tools_deny;
    std::vector<std::string> tools_pinned;  ///< globs; always offered
    friend bool operator==(const AgentOptions&, const AgentOptions&) = default;
};

/// The string at `pointer` of a payload matches `glob`.
struct PayloadCondition {
    std::string pointer, glob;
    friend bool operator==(const PayloadCondition&, const PayloadCondition&) = default;
};

/// Events that start turns of an agent.
struct TriggerOptions {
    std::string event;  ///< globs of types, separated by commas
    std::string agent_id, session_id;  ///< of the event's routing; empty: any
    std::vector<PayloadCondition> where;  ///< all must hold
    std::string prompt;  ///< empty: crab's own
    bool one_session = false;
    Milliseconds max_age = std::chrono::hours(1);
    friend bool operator==(const TriggerOptions&, const TriggerOptions&) = default;
};

/// An agent in addition to the default one; unset members are those of AgentOptions.
struct NamedAgentOptions {
    std::string name;
    std::optional<std::string> instructions;
    std::vector<std::string> models;  ///< names; empty: all, in their order
    std::string tenant = "default";
    std::optional<std::size_t> max_rounds, context_tokens, output_bytes, max_tools, tool_tokens;
    std::optional<std::chrono::seconds> turn_timeout;
    std::optional<std::vector<std::string>> tools_allow, tools_deny, tools_pinned;
    std::vector<TriggerOptions> on;
    std::size_t at_once = 1;  ///< of the turns that events start
    friend bool operator==(const NamedAgentOptions&, const NamedAgentOptions&) = default;
};

/// Options of pairing.
struct PairingOptions {
    /// An operator-made CA, and the gateway's certificate and key from it; all or none
    std::filesystem::path ca, cert, key;
    bool allow_insecure_loopback = true;
    friend bool operator==(const PairingOptions&, const PairingOptions&) = default;
};

struct AuditOptions {
    std::chrono::days retention{90};
    friend bool operator==(const AuditOptions&, const AuditOptions&) = default;
};

struct GatewayConfig {
    std::filesystem::path source;  ///< the file it was read from; empty for the defaults
    ConfigOrigin origin;  ///< its text
    std::vector<std::filesystem::path> quoted;  ///< files of which it took the content in
    GatewayOptions gateway;
    ListenOptions listen;
    GrpcOptions grpc;
    LimitOptions limits;
    DeviceOptions devices;
    CallOptions calls;
    std::vector<RateRule> rates;
    std::vector<PolicyRule> policy;
    std::vector<PeerOptions> peers;
    LeaseOptions leases;
    ApprovalOptions approvals;
    std::vector<ToolOverride> tools;
    std::vector<HookRule> hooks;
    std::vector<ToolHostOptions> hosts;
    std::vector<WorktreeOptions> worktrees;
    /// sw4rm services that the gateway queries
    std::optional<RemoteServiceOptions> worktree_service, hitl;
    std::vector<ProviderOptions> providers;
    std::vector<SecretOptions> secrets;
    PairingOptions pairing;
    BuiltInHostOptions built_in_hosts;
    EventOptions events;
    ArtifactOptions artifacts;
    std::vector<ModelOptions> models;  ///< in order of preference
    AgentOptions agent;
    std::vector<NamedAgentOptions> agents;
    AuditOptions audit;
    TracingOptions tracing;
    PushOptions push;
    MetricsOptions metrics;
    McpOptions mcp;
    std::optional<FleetOptions> fleet;  ///< nothing: files in the state folder
    friend bool operator==(const GatewayConfig&, const GatewayConfig&) = default;
};

}  // namespace crab::config
