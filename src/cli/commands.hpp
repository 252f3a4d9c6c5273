#pragma once

#include "base/clock.hpp"
#include "base/secret.hpp"
#include "cli/device_run.hpp"
#include "cli/gateway_program.hpp"
#include "cli/output/output.hpp"
#include "hosting/built_in_host.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// The options of each subcommand, and the function that runs it. command_line.cpp fills the
/// structs; every run() returns a process exit code (exit_codes.hpp), prints results to standard
/// output and everything else to standard error.
namespace crab::cli {

/// Which gateway a command talks to: the admin socket of this machine, or with `url` a gateway's
/// public listener.
struct Target {
    /// --socket; empty: CRAB_SOCKET, the configuration's, the default
    std::filesystem::path socket;
    std::filesystem::path config;  ///< --config; empty: the usual places
    std::string context;           ///< --context; empty: settle() says which
    std::string url;               ///< --url; empty: the admin socket
    Secret<std::string> token;     ///< --token or CRAB_TOKEN, for `url`
    std::string ca_file;  ///< --ca-file or CRAB_CA_FILE, for `url`; empty: the system's authorities
    bool allow_plain = false;  ///< --allow-plain: `url` may be http on another machine
    bool may_be_remote = false;  ///< whether the command makes sense over `url`
};

struct GatewayRun {
    std::filesystem::path config;
    bool system = false;
};
struct GatewayCheck {
    std::filesystem::path config;
    bool schema = false;
    Output output = Output::kText;
};
struct GatewayStatus {
    Target target;
    Output output = Output::kText;
};
struct GatewayStop {
    Target target;
    Milliseconds timeout{30'000};  ///< how long it may take to end; 0: do not wait
    Output output = Output::kText;
};
struct GatewayReload {
    Target target;
    Output output = Output::kText;
};
/// How much it logs, and of which parts.
struct GatewayLogLevels {
    Target target;
    Output output = Output::kText;
};
struct GatewayLogLevel {
    Target target;
    std::string level;  ///< or `configured`
    std::string part;  ///< empty: all without a level of their own
    Output output = Output::kText;
};
/// What the gateway has written, wherever that is.
struct Logs {
    Target target;
    bool follow = false;
    int lines = 100;
    std::string since, unit;  ///< as journalctl takes them; empty: any, the gateway's own
};
/// The named gateways of a person.
struct ContextList {
    Output output = Output::kText;
};
struct ContextUse {
    std::string name;
};
struct ContextSet {
    std::string name, url;
    std::filesystem::path socket, token_file, ca_file;
    bool allow_plain = false;
};
struct ContextRemove {
    std::string name;
};
struct Version {
    Target target;
    bool client = false;  ///< do not ask the gateway
    Output output = Output::kText;
};
/// `crab host memory|cron|exec`.
struct RunHost {
    hosting::HostKind kind = hosting::HostKind::kMemory;
    std::filesystem::path socket;  ///< --unix; or
    std::string listen;  ///< --listen, with the three that follow
    std::string component_id;  ///< empty: the kind's name
    std::string gateway_key;  ///< base64
    std::string pair_path;
    std::filesystem::path tls_ca, tls_cert, tls_key;  ///< of an operator-made CA: all or none
    std::string events_to;  ///< of cron: `unix:/path` or `https://host:port`; empty: events wait
    std::filesystem::path config;  ///< of exec: its `worktrees` and `providers` count
    std::filesystem::path state_dir;  ///< empty: below the usual place
};
struct ToolsList {
    Target target;
    std::string glob;  ///< of names; empty: any
    std::string source;  ///< a glob such as `device/*`; empty: any
    Output output = Output::kText;
};
struct ToolsShow {
    Target target;
    std::string tool;
    Output output = Output::kText;
};
struct ToolsCheck {
    Target target;
    std::string tool;
    std::string args;  ///< JSON, `@file` or `-`; empty: none
    std::string as;  ///< empty: who asks
    Output output = Output::kText;
};
struct CallTool {
    Target target;
    std::string tool;
    std::string args;  ///< JSON, `@file` or `-`; empty: none
    std::vector<std::string> arg;  ///< --arg, each `k=v` or `k:=json`
    std::optional<Milliseconds> timeout;
    /// How long to wait for a disconnected device that has the tool; nothing: do not wait
    std::optional<Milliseconds> away_wait;
    bool stream = false;
    std::string idempotency_key;
    std::vector<std::string> policy;  ///< --policy, each `field=value`; over gRPC only
    bool summary = false;  ///< over gRPC: print the server's summary of the run on standard error
    std::string call_id;  ///< empty: made here
    std::string tenant = "default";
    std::string agent = "cli";
    std::string session = "cli";
    Output output = Output::kText;
};
struct ToolsCost {
    Target target;
    std::string front = "chat";  ///< or `mcp`
    std::string scope;  ///< of mcp
    std::string agent = "crab";
    Output output = Output::kText;
};
struct AgentsList {
    Target target;
    bool turns = false;  ///< list the turns that events have started, instead of the agents
    Output output = Output::kText;
};
struct AgentsShow {
    Target target;
    std::string turn_id;
    Output output = Output::kText;
};
struct Chat {
    Target target;
    std::string session;  ///< empty: a new one
    std::string agent;  ///< persona of a new one; empty: the standard agent
    std::string once;  ///< one question, `-` reads it from standard input; empty: a conversation
    Output output = Output::kText;
};
struct CallsList {
    Target target;
    int limit = 20;
    std::string tool, status, principal;  ///< globs, separated by commas; empty: any
    std::string since;  ///< RFC 3339; empty: any time
    Output output = Output::kText;
};
struct CallsShow {
    Target target;
    std::string call_id;
    Output output = Output::kText;
};
struct CallsCancel {
    Target target;
    std::string call_id;
    Output output = Output::kText;
};
struct Top {
    Target target;
    std::string by = "tool";
    Milliseconds window{std::chrono::minutes(5)};
    int rows = 20;
    bool once = false;
    Output output = Output::kText;
};
struct EventsTail {
    Target target;
    std::string types;  ///< globs, separated by commas; empty: all
    std::string from;  ///< `earliest` or a cursor; empty: what comes next
    std::uint64_t count = 0;  ///< then it ends; 0: never
    Output output = Output::kText;
};
struct EventsForward {
    Target target;
    std::string webhook;  ///< https://, or http:// to this machine
    bool allow_plain = false;  ///< `webhook` may be http on another machine
    std::string types;  ///< globs, separated by commas; empty: all
    /// The subscription that stores the position of acknowledged events
    std::string subscription = "webhook";
    /// `earliest` or a cursor, which overrides the stored position; empty: the stored position,
    /// else new events
    std::string from;
    std::uint64_t count = 0;  ///< then it ends; 0: never
};
struct DevicesList {
    Target target;
    Output output = Output::kText;
};
struct DevicesShow {
    Target target;
    std::string device;
    Output output = Output::kText;
};
struct DevicesRename {
    Target target;
    std::string device, name;
    Output output = Output::kText;
};
struct DevicesPair {
    Target target;
    std::string name;
    std::vector<std::string> roles;
    std::vector<std::string> tenants;  ///< in addition to the default one …
    bool no_default_tenant = false;  ///< … or in its place
    std::optional<std::chrono::seconds> expires;
    bool token = false;
    bool trust_annotations = false;  ///< trust the device's claims about its tools
    std::filesystem::path out;  ///< a new file for the token, mode 0600; empty: standard output
    bool console = false;  ///< for a person's browser, which signs in to the console
    bool qr = false;  ///< the address of the page, code included, as a QR code
    /// Overrides the address that the gateway reports; may be empty
    std::string page;
    Output output = Output::kText;
};
/// A token of a caller, or of what its roles say.
struct TokensCreate {
    Target target;
    std::string name;
    std::vector<std::string> roles{"caller"};
    std::vector<std::string> tenants;
    bool no_default_tenant = false;
    std::optional<std::chrono::seconds> expires;
    std::filesystem::path out;
    Output output = Output::kText;
};
struct TokensList {
    Target target;
    bool all = false;  ///< revoked ones too
    Output output = Output::kText;
};
struct TokensRevoke {
    Target target;
    std::vector<std::string> ids;
    bool yes = false;  ///< do not ask
    Output output = Output::kText;
};
/// New tools of a known device.
struct DevicesApprove {
    Target target;
    std::string device;
    std::vector<std::string> tools;  ///< empty: all that wait
    Output output = Output::kText;
};
struct DevicesRevoke {
    Target target;
    std::string device;  ///< or
    std::string token_id;
    bool yes = false;  ///< do not ask
    Output output = Output::kText;
};
/// `crab peers pair tool|subscriber|cli`.
struct PairRemote {
    Target target;
    std::string component_type;  ///< `tool_host`, `subscriber` or `operator`
    std::string endpoint;
    std::string name;
    std::string remote_key;  ///< base64; empty: trust on first use
    bool replace = false;
    Milliseconds timeout{20'000};
    Output output = Output::kText;
};
struct PairTest {
    Target target;
    std::string gateway_public_key;  ///< base64; empty: queried from the gateway
    std::string component_id;  ///< empty: the host's name
    std::string listen_address = "ws://127.0.0.1:0/v1/pair";
    std::string listen_path;  ///< empty: that of the address
    bool replace = false;
    Milliseconds timeout{20'000};
    Output output = Output::kText;
};
struct PeersList {
    Target target;
    Output output = Output::kText;
};
struct PeersShow {
    Target target;
    std::string peer;  ///< `<type>/<id>`, as in all that follow
    Output output = Output::kText;
};
struct PeersRenew {
    Target target;
    std::string peer;
    Output output = Output::kText;
};
struct PeersRevoke {
    Target target;
    std::string peer;
    std::string reason;
    bool yes = false;  ///< do not ask
    Output output = Output::kText;
};
/// `crab peers enable|disable`.
struct PeersSetStatus {
    Target target;
    std::string peer;
    std::string status;  ///< `active` or `inactive`
    Output output = Output::kText;
};
struct PeersIdentity {
    Target target;
    Output output = Output::kText;
};
struct WorktreeBind {
    std::string who, worktree;  ///< an empty worktree: unbind
    Target target;
    Output output = Output::kText;
};
struct WorktreeStatus {
    Target target;
    Output output = Output::kText;
};

struct ApprovalsList {
    Target target;
    bool all = false;  ///< include ended ones
    Output output = Output::kText;
};
struct ApprovalsShow {
    Target target;
    std::string id;
    Output output = Output::kText;
};
/// `crab approvals allow|deny`.
struct ApprovalsDecide {
    Target target;
    std::string id;
    bool allow = false;
    std::string scope = "once";
    Output output = Output::kText;
};
struct ApprovalsWatch {
    Target target;
    bool ask = false;  ///< decide here, at the terminal
    Output output = Output::kText;
};
struct ApprovalsRemembered {
    Target target;
    Output output = Output::kText;
};
struct ApprovalsForget {
    Target target;
    std::string id;
    Output output = Output::kText;
};
struct LeasesList {
    Target target;
    Output output = Output::kText;
};
struct LeasesRevoke {
    Target target;
    std::string lease_id;
    bool yes = false;  ///< do not ask
    Output output = Output::kText;
};
struct SessionsList {
    Target target;
    std::string agent;  ///< empty: of any
    std::vector<std::string> words;
    std::size_t limit = 50;
    Output output = Output::kText;
};
struct SessionsShow {
    Target target;
    std::string id;
    Output output = Output::kText;
};
struct SessionsDelete {
    Target target;
    std::string id;
    bool yes = false;  ///< do not ask
    Output output = Output::kText;
};
struct ArtifactsList {
    Target target;
    Output output = Output::kText;
};
struct ArtifactsGet {
    Target target;
    std::string id;
    std::string file;  ///< empty: the id, in this folder; `-`: standard output
    Output output = Output::kText;
};
struct ArtifactsDelete {
    Target target;
    std::string id;
    bool yes = false;  ///< do not ask
    Output output = Output::kText;
};
/// May this principal do that, and by which rule?
struct PolicyTest {
    Target target;
    std::string as;  ///< principal id
    std::vector<std::string> question;  ///< an action, or `call TOOL`, or `register TOOL`
    std::vector<std::string> roles;  ///< empty: those that the principal has by default
    std::string tenant, agent, session;
    std::string lease;  ///< of an action; empty: none
    std::string args;  ///< of a call; empty: any
    std::string source;  ///< of a call's tool, such as `device/phone`; empty: as it is
    std::string effects;  ///< of a call's tool: none or possible; empty: as it is
    bool bytes = false;  ///< a call's arguments are bytes, which rules cannot inspect
    bool trace = false;  ///< print what each rule says
    bool file = false;  ///< ask the configuration file, not the running gateway
    Output output = Output::kText;
};
/// What may this principal call? Asks the running gateway.
struct PolicyMatrix {
    Target target;
    std::string as;  ///< principal id
    Output output = Output::kText;
};
/// What the running gateway is configured with.
struct ConfigShow {
    Target target;
    bool changed = false;  ///< only what is not the default
    Output output = Output::kText;
};
/// From which file.
struct ConfigPath {
    Target target;
    Output output = Output::kText;
};
/// `crab tls init`
struct TlsInit {
    std::vector<std::string> names;  ///< host names and addresses; none: this machine's
    std::filesystem::path directory;  ///< empty: `tls` in the state directory
    std::filesystem::path cert, key;  ///< existing files, which are only checked; empty: created
    std::filesystem::path config;
    bool system = false;
    Output output = Output::kText;
};
struct Doctor {
    Target target;
    bool system = false;
    /// With one of the first two: why this tool does not reach this caller, asked of the gateway
    std::string tool, device;
    std::string as;  ///< principal id; empty: whoever asks
    Output output = Output::kText;
};
/// `crab console`.
struct ConsoleRun {
    Target target;
    std::uint16_t port = 42619;
    bool open = false;  ///< in the browser of this machine
    bool read_only = false;
    Milliseconds idle = std::chrono::hours(8);
};
struct AuditVerify {
    std::filesystem::path config;
    bool system = false;
    Output output = Output::kText;
};
/// Which audit records, by the names of core::kAuditParameters.
struct AuditSelection {
    std::filesystem::path config;
    bool system = false;
    std::map<std::string, std::string, std::less<>> parameters;
};
struct AuditSearch {
    AuditSelection which;
    std::size_t limit = 50;
    std::string cursor;  ///< of the answer before; empty: from the newest on
    Output output = Output::kText;
};
struct AuditExport {
    AuditSelection which;
    std::string format = "jsonl";
    bool follow = false;  ///< go on with what is recorded later
};
struct Backup {
    std::filesystem::path to;  ///< a folder that must not exist yet
    std::filesystem::path config;
    bool system = false;
    Output output = Output::kText;
};
struct Restore {
    std::filesystem::path from;  ///< what crab backup made
    std::filesystem::path to;  ///< another state folder than the gateway's; empty: that
    std::filesystem::path config;
    bool system = false;
    Output output = Output::kText;
};
struct Completion {
    std::string shell;
};
/// Names of what is there, for completion: bounded in time, silent without a gateway.
struct CompletionNames {
    Target target;
    std::string kind;
};
struct SchemaCheck {
    std::filesystem::path schema;
    std::filesystem::path instance;
};
struct SchemaSuite {
    std::filesystem::path directory;
    std::filesystem::path remotes;
};
struct Help {
    std::vector<std::string> topic;  ///< names of commands, or `exit-codes`
    bool markdown = false;
    std::filesystem::path man;  ///< folder for a man page of every command
};
struct Device {
    DeviceOptions options;
    Target target;  ///< the admin socket on which the device is vouched for
    std::filesystem::path token_file;
    std::vector<std::string> exec;  ///< --exec, each `NAME=COMMAND`
    std::vector<std::string> schemas;  ///< --schema, each `NAME=JSON` or `NAME=@FILE`
    std::vector<std::string> descriptions;  ///< --describe, each `NAME=TEXT`
};

struct BridgeRun {
    std::string gateway = "ws://127.0.0.1:42617";
    Secret<std::string> token;
    std::filesystem::path token_file;
    std::string pair_code;
    std::string name;
    std::string ca_file;
    bool allow_plain = false;
};
struct BridgeList {
    Output output = Output::kText;
};
struct BridgeStatusShow {
    Output output = Output::kText;
};
struct BridgeEnable {
    std::string provider;
    bool yes = true;  ///< false: disable
    Output output = Output::kText;
};
struct BridgeCall {
    std::string provider;
    std::string tool;  ///< empty: ask for its list of tools
    std::string args = "{}";
    std::optional<Milliseconds> timeout;
};

struct McpStatus {
    Target target;
    std::string name;  ///< empty: all
    bool details = false;  ///< `status`; else `list`
    Output output = Output::kText;
};
struct McpAdd {
    Target target;
    std::string name;
    std::vector<std::string> what;  ///< a URL, or the command and its arguments
    std::vector<std::string> env;  ///< each `NAME=VALUE`, or `NAME` for that of this process
    std::vector<std::string> headers;  ///< each `NAME: VALUE`
    std::string cwd, era;
    bool allow_plain = false;  ///< header fields may go to http on another machine
    bool sandbox = false;  ///< also without any of what follows, which are its rules
    std::vector<std::string> read, write;
    std::string network, privilege;
    std::uint64_t memory_bytes = 0;
    bool replace = false;
    Output output = Output::kText;
};
struct McpRemove {
    Target target;
    std::string name;
    bool yes = false;  ///< do not ask
    Output output = Output::kText;
};
struct McpDiff {
    Target target;
    std::string name;
    Output output = Output::kText;
};
struct McpApprove {
    Target target;
    std::string name;
    std::vector<std::string> entries;  ///< empty: all that were shown
    Output output = Output::kText;
};
struct McpLogin {
    Target target;
    std::string name;
    std::string principal;  ///< whose login; empty: that of the gateway
    std::uint16_t port = 0;  ///< that the browser comes back to; 0: any
    bool listen_only = false;  ///< nobody types
    Output output = Output::kText;
};
struct McpLogout {
    Target target;
    std::string name;
    std::string principal;
    Output output = Output::kText;
};
struct McpImport {
    Target target;
    std::filesystem::path file;  ///< or
    std::string from;  ///< a client's name
    bool yes = false;
    bool undo = false;
};
struct McpExport {
    Target target;
    std::string client;
    std::filesystem::path file;  ///< merged into it; empty: printed
    std::string url;  ///< of /mcp; empty: the entry starts `crab mcp stdio`
    std::string scope;
};
struct McpServe {
    Target target;
    std::string scope;
};

int run(const GatewayRun& options, const GatewayProgram& gateway);
int run(const GatewayCheck& options, const GatewayProgram& gateway);
int run(const RunHost& options);
int run(const ToolsList& options);
int run(const ToolsShow& options);
int run(const ToolsCheck& options);
int run(const ToolsCost& options);
int run(const CallTool& options);
int run(const AgentsList& options);
int run(const AgentsShow& options);
int run(const Chat& options);
int run(const CallsList& options);
int run(const CallsShow& options);
int run(const CallsCancel& options);
int run(const Top& options);
int run(const EventsTail& options);
int run(const EventsForward& options);
int run(const DevicesList& options);
int run(const DevicesShow& options);
int run(const DevicesRename& options);
int run(const DevicesPair& options);
int run(const DevicesApprove& options);
int run(const DevicesRevoke& options);
int run(const PairRemote& options);
int run(const PairTest& options);
int run(const PeersList& options);
int run(const PeersShow& options);
int run(const PeersRenew& options);
int run(const PeersRevoke& options);
int run(const PeersSetStatus& options);
int run(const PeersIdentity& options);
int run(const WorktreeBind& options);
int run(const WorktreeStatus& options);
int run(const LeasesList& options);
int run(const LeasesRevoke& options);
int run(const ApprovalsList& options);
int run(const ApprovalsShow& options);
int run(const ApprovalsDecide& options);
int run(const ApprovalsWatch& options);
int run(const ApprovalsRemembered& options);
int run(const ApprovalsForget& options);
int run(const SessionsList& options);
int run(const SessionsShow& options);
int run(const SessionsDelete& options);
int run(const ArtifactsList& options);
int run(const ArtifactsGet& options);
int run(const ArtifactsDelete& options);
int run(const PolicyTest& options);
int run(const PolicyMatrix& options);
int run(const Device& options);
int run(const BridgeRun& options);
int run(const BridgeList& options);
int run(const BridgeStatusShow& options);
int run(const BridgeEnable& options);
int run(const BridgeCall& options);
int run(const GatewayLogLevels& options);
int run(const GatewayLogLevel& options);
int run(const ConfigShow& options);
int run(const ConfigPath& options);
int run(const TlsInit& options);
int run(const Doctor& options);
int run(const ConsoleRun& options);
int run(const McpStatus& options);
int run(const McpAdd& options);
int run(const McpRemove& options);
int run(const McpDiff& options);
int run(const McpApprove& options);
int run(const McpLogin& options);
int run(const McpLogout& options);
int run(const McpImport& options);
int run(const McpExport& options);
int run(const McpServe& options);
int run(const AuditVerify& options);
int run(const AuditSearch& options);
int run(const AuditExport& options);
int run(const Backup& options);
int run(const Restore& options);
int run(const Completion& options);
int run(const SchemaCheck& options);
int run(const SchemaSuite& options);
int run(const Help& options);
int run(const TokensCreate& options);
int run(const TokensList& options);
int run(const TokensRevoke& options);
int run(const GatewayStatus& options);
int run(const GatewayStop& options);
int run(const GatewayReload& options);
int run(const Logs& options);
int run(const ContextList& options);
int run(const ContextUse& options);
int run(const ContextSet& options);
int run(const ContextRemove& options);
int run(const Version& options);
int run(const CompletionNames& options);

}  // namespace crab::cli
