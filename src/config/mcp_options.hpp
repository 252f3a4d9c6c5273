#pragma once

#include "base/clock.hpp"
#include "base/secret.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// The section `mcp:`. Every default here is also the `default` of spec/config.schema.json.
/// Source: docs/protocols/mcp.md, section 7.6 and where it names `mcp.…`.
namespace crab::config {

/// A value that will not print, and that a reload can compare with the one before.
struct McpSecretText {
    Secret<std::string> text;
    friend bool operator==(const McpSecretText& one, const McpSecretText& other) {
        return one.text.reveal() == other.text.reveal();
    }
};
using McpSecretTexts = std::map<std::string, McpSecretText, std::less<>>;

enum class McpEra : std::uint8_t { kProbe, kModern, kLegacy, kSse };
enum class McpPin : std::uint8_t { kTrustFirst, kAsk, kOff };
enum class McpOutputRule : std::uint8_t { kWarn, kStrict, kOff };

/// The rules of the sandbox that a server's process runs in.
struct McpSandboxOptions {
    std::vector<std::filesystem::path> read, write;
    bool network = false;  ///< that of the host
    bool minimal = false;  ///< `privilege: minimal`: no new processes
    std::size_t memory_bytes = 0;  ///< 0: without a limit of its own
    friend bool operator==(const McpSandboxOptions&, const McpSandboxOptions&) = default;
};

/// What the operator says of one tool of a server; overrules the server's claims.
struct McpToolOptions {
    std::optional<bool> side_effects, idempotent;
    std::optional<Milliseconds> timeout;
    friend bool operator==(const McpToolOptions&, const McpToolOptions&) = default;
};

/// OAuth client credentials for a server (section 6.4).
struct McpClientCredentials {
    std::string issuer, client_id;
    McpSecretText client_secret;  ///< empty: `key_file`
    std::filesystem::path key_file;  ///< PEM, for `private_key_jwt`
    std::vector<std::string> scopes;
    friend bool operator==(const McpClientCredentials&, const McpClientCredentials&) = default;
};

/// A client that the operator registered for logins of people.
struct McpLoginClient {
    std::string issuer, client_id;
    McpSecretText client_secret;  ///< empty: a public client
    friend bool operator==(const McpLoginClient&, const McpLoginClient&) = default;
};

/// How the gateway shows itself to a server over HTTP; at most one of them.
struct McpAuthOptions {
    McpSecretTexts headers;
    std::optional<McpClientCredentials> client_credentials;
    bool user = false;  ///< each person by `crab mcp login`
    bool allow_plain = false;  ///< tokens may go to http on another machine
    std::optional<McpLoginClient> client;  ///< for that, where servers register none
    friend bool operator==(const McpAuthOptions&, const McpAuthOptions&) = default;
};

/// TLS of a server over HTTP; files, empty ones unset.
struct McpTlsOptions {
    std::filesystem::path ca, cert, key;
    friend bool operator==(const McpTlsOptions&, const McpTlsOptions&) = default;
};

/// `mcp.servers.<source>`: a server whose tools, resources and prompts are offered on. It has
/// either a command or a URL.
struct McpServerOptions {
    std::string command;
    std::vector<std::string> args;
    McpSecretTexts env;
    std::filesystem::path cwd;  ///< empty: a folder of its own below the state folder
    std::optional<McpSandboxOptions> sandbox;
    std::string url;
    McpTlsOptions tls;
    McpAuthOptions auth;

    bool enabled = true;
    McpEra era = McpEra::kProbe;
    bool eager = false;        ///< `start: eager`: with the gateway, not at the first need
    bool shared_session = false;  ///< `session: shared`: the server keeps no state of its callers
    bool interactive = false;  ///< one process per principal, one call at a time
    McpPin pin = McpPin::kTrustFirst;
    std::vector<std::string> tools_allow, tools_deny;  ///< globs of its own names
    std::map<std::string, McpToolOptions, std::less<>> overrides;  ///< by its own names
    bool ask_elicitation = true, ask_sampling = false, ask_roots = false;
    bool trust_annotations = false;
    McpOutputRule output = McpOutputRule::kWarn;
    bool drop_nulls = true;
    bool pass_instructions = false;  ///< `instructions: pass`

    Milliseconds timeout = std::chrono::seconds(60);
    Milliseconds max_timeout = std::chrono::minutes(10);
    Milliseconds probe_timeout = std::chrono::seconds(5);
    Milliseconds start_timeout = std::chrono::seconds(60);
    Milliseconds idle_stop{0};  ///< of a process nobody calls; 0: it stays
    std::size_t at_once = 64;  ///< calls
    friend bool operator==(const McpServerOptions&, const McpServerOptions&) = default;
};
using McpServers = std::map<std::string, McpServerOptions, std::less<>>;  ///< by source

enum class McpPrefix : std::uint8_t { kAuto, kAlways, kNever };

struct McpNameOptions {
    McpPrefix prefix = McpPrefix::kAuto;
    std::size_t max = 64;
    bool dots_to_underscores = false;
    friend bool operator==(const McpNameOptions&, const McpNameOptions&) = default;
};

/// What a list of tools may cost; 0: any number.
struct McpBudgetOptions {
    std::size_t tools = 0;
    std::size_t tokens = 0;  ///< estimated
    friend bool operator==(const McpBudgetOptions&, const McpBudgetOptions&) = default;
};

/// `mcp.scopes.<name>`: what `/mcp/<name>` shows of the caller's view.
struct McpScopeOptions {
    std::vector<std::string> tools_allow, tools_deny;  ///< globs of plain or qualified names
    std::string instructions;  ///< in place of `mcp.instructions`
    std::optional<McpPrefix> prefix;  ///< nothing: that of `mcp.names`
    std::map<std::string, std::string, std::less<>> rename;  ///< by plain or qualified names
    McpBudgetOptions budget;
    std::vector<std::string> pinned;  ///< globs of what is listed all the same
    friend bool operator==(const McpScopeOptions&, const McpScopeOptions&) = default;
};

/// `mcp.oauth`: the gateway as a resource server of an issuer (section 6.2).
struct McpOauthOptions {
    std::string issuer, resource;
    std::string issuer_name;  ///< in principals; empty: the issuer's host
    std::string jwks;  ///< URL; empty: that of the issuer's metadata
    std::string introspection;  ///< URL; empty: tokens are checked by their signature
    std::string introspection_client;
    McpSecretText introspection_secret;
    std::vector<std::string> scopes;
    std::string tenant_claim, roles_claim;
    friend bool operator==(const McpOauthOptions&, const McpOauthOptions&) = default;
};

struct McpOptions {
    bool enabled = true;
    McpServers servers;
    std::vector<std::string> versions;  ///< that are spoken; empty: all
    std::string instructions;  ///< for clients; may be empty
    McpNameOptions names;
    McpBudgetOptions budget;  ///< of `/mcp`
    std::vector<std::string> pinned;
    std::map<std::string, McpScopeOptions, std::less<>> scopes;
    std::optional<McpOauthOptions> oauth;
    std::string client_metadata_url;  ///< of the document that describes this gateway to issuers
    bool legacy_sse = false;  ///< `/mcp/sse`, for clients of 2024-11-05

    std::size_t page = 500;
    std::size_t max_request = std::size_t{4} << 20;
    std::size_t max_reply = std::size_t{8} << 20;
    std::size_t sessions_per_principal = 64;
    std::size_t streams_per_principal = 16;

    Milliseconds stream_after{500};
    Milliseconds keepalive = std::chrono::seconds(15);
    Milliseconds list_ttl = std::chrono::seconds(10);
    Milliseconds session_idle = std::chrono::minutes(30);
    Milliseconds task_after = std::chrono::seconds(10);
    Milliseconds input_wait = std::chrono::minutes(10);
    Milliseconds poll_after{0};  ///< 0: never
    friend bool operator==(const McpOptions&, const McpOptions&) = default;
};

}  // namespace crab::config
