#include "config/check_mcp.hpp"

#include "base/ascii.hpp"
#include "base/duration_text.hpp"
#include "config/gateway_config.hpp"
#include "config/plain_http.hpp"
#include "json/pointer.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/http_url.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

namespace crab::config {
namespace {

/// `https`, or `http` on this machine.
bool is_safe(const std::optional<net::HttpUrl>& url) { return url && !is_plain_elsewhere(*url); }

bool is_safe(const std::string& text) { return is_safe(net::HttpUrl::parse(text)); }

/// What the gateway says itself in each request.
bool is_own_field(std::string_view name) {
    constexpr std::array<std::string_view, 8> kOwn{
        "host",       "content-length", "content-type",   "transfer-encoding",
        "connection", "accept",         "mcp-session-id", "mcp-protocol-version"};
    const std::string lower = lower_case(name);
    return std::ranges::find(kOwn, lower) != kOwn.end() || lower.starts_with("mcp-param-");
}

std::string below(const std::string& at, std::string_view key) {
    return fmt::format("{}/{}", at, json::escape_pointer(std::string(key)));
}

void check_headers(const McpSecretTexts& headers, const std::string& at, Rules& rules) {
    for (const auto& [name, value] : headers) {
        rules.expect(!name.empty() && net::all_of_class(name, net::kTokenChar), below(at, name),
                     "is not named like a header field, such as Authorization");
        rules.expect(!is_own_field(name), below(at, name),
                     "is a header field that the gateway writes itself; leave it out");
        rules.expect(net::all_of_class(value.text.reveal(), net::kValueChar), below(at, name),
                     "has a line break or another control character, which no header field can "
                     "hold");
    }
}

void check_auth(const McpAuthOptions& auth, const std::string& at, Rules& rules) {
    const int proofs =
        (auth.headers.empty() ? 0 : 1) + (auth.user ? 1 : 0) + (auth.client_credentials ? 1 : 0);
    rules.expect(proofs <= 1, at, "has one of headers, client_credentials and user");
    check_headers(auth.headers, at + "/headers", rules);
    if (auth.client) {
        rules.expect(auth.headers.empty() && !auth.client_credentials, at + "/client",
                     "is for logins of people, which there are none with headers or "
                     "client_credentials");
        rules.expect(is_safe(auth.client->issuer), at + "/client/issuer",
                     "has to be the https URL of the authorization server");
    }
    if (!auth.client_credentials) return;
    const McpClientCredentials& own = *auth.client_credentials;
    rules.expect(own.client_secret.text.reveal().empty() != own.key_file.empty(),
                 at + "/client_credentials", "needs one of the keys client_secret and key_file");
    rules.expect(is_safe(own.issuer), at + "/client_credentials/issuer",
                 "has to be the https URL of the authorization server");
}

/// What is read as no time would leave the default in force.
void expect_time(const std::string& at, Rules& rules) {
    const json::Value* const value = rules.document().value.resolve(at);
    const std::string* const text = value != nullptr ? value->as_string() : nullptr;
    rules.expect(text == nullptr || parse_duration(*text), at,
                 "has to be more than 0s, and ten years at most");
}

void check_times(const McpServerOptions& server, const std::string& at, Rules& rules) {
    rules.expect(server.timeout <= server.max_timeout, at + "/timeout",
                 "may not be more than max_timeout");
    for (const char* key : {"timeout", "max_timeout", "probe_timeout", "start_timeout"})
        expect_time(below(at, key), rules);
    for (const auto& [name, tool] : server.overrides) {
        std::string timeout = below(at + "/overrides", name) + "/timeout";
        if (rules.document().value.resolve(timeout) == nullptr)
            timeout = below(at + "/tools", name) + "/timeout";
        expect_time(timeout, rules);
        rules.expect(!tool.timeout || *tool.timeout <= server.max_timeout, timeout,
                     "may not be more than max_timeout of the server");
    }
}

/// The system would cut such a word off at its NUL, so that another one runs than is shown.
void check_words(const McpServerOptions& server, const std::string& at, Rules& rules) {
    const auto expect_whole = [&](std::string_view word, const std::string& where) {
        rules.expect(!word.contains('\0'), where, "has a NUL, which no program can be given");
    };
    expect_whole(server.command, at + "/command");
    for (std::size_t i = 0; i < server.args.size(); ++i)
        expect_whole(server.args[i], fmt::format("{}/args/{}", at, i));
    expect_whole(server.cwd.native(), at + "/cwd");
    for (const auto& [name, value] : server.env) {
        expect_whole(name, below(at + "/env", name));
        expect_whole(value.text.reveal(), below(at + "/env", name));
    }
}

bool starts_with_lower(std::string_view text, std::string_view lower) {
    return equals_lower(text.substr(0, lower.size()), lower);
}

/// `javascript:` and the like, which no program is called.
bool has_scheme(std::string_view word) {
    const std::string_view scheme = word.substr(0, word.find(':'));
    const auto fits = [](char c) {
        return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '+' || c == '-' ||
               c == '.';
    };
    return scheme.size() > 1 && scheme.size() < word.size() && !is_digit(scheme[0]) &&
           scheme[0] != '.' && scheme[0] != '-' && std::ranges::all_of(scheme, fits);
}

void check_command(std::string_view command, const std::string& at, Rules& rules) {
    // Whoever writes `sh -c` into one line means arguments; nothing here would take it apart.
    // Folders have names with blanks, though.
    const bool is_path = command.starts_with('/');
    rules.expect(command.find_first_of("|&;<>$`\"'\t\r\n") == std::string_view::npos &&
                     (is_path || !command.contains(' ')),
                 at, "is the program only, which no shell reads; use args");
    rules.expect(!has_scheme(command), at,
                 "is a program, and this is a URL; servers have URLs that begin with https:// or "
                 "http://, under url");
}

void check_server(const McpServerOptions& server, const std::string& at, Rules& rules) {
    rules.expect(server.command.empty() != server.url.empty(), at,
                 "needs one of the keys command and url");
    check_command(server.command, at + "/command", rules);
    check_words(server, at, rules);
    const bool runs = server.url.empty();
    rules.expect(runs || (server.args.empty() && server.env.empty() && server.cwd.empty() &&
                          !server.sandbox && !server.interactive),
                 at, "args, env, cwd, sandbox and interactive are only for a command");
    rules.expect(!runs || server.auth == McpAuthOptions{}, at + "/auth", "is only for a url");
    rules.expect(server.tls == McpTlsOptions{} || starts_with_lower(server.url, "https://"),
                 at + "/tls", "is only for a url that begins with https://");
    rules.expect(server.tls.cert.empty() == server.tls.key.empty(), at + "/tls",
                 "needs cert and key together");
    rules.expect(runs || starts_with_lower(server.url, "https://") ||
                     starts_with_lower(server.url, "http://"),
                 at + "/url", "has to begin with https:// or http://");
    rules.expect(
        runs || net::HttpUrl::parse(server.url.substr(0, server.url.find('#'))), at + "/url",
        "has to be a URL without user or white space, such as https://mcp.example.com/mcp");
    rules.expect(!runs || server.era != McpEra::kSse, at + "/era", "can be sse only with a url");
    for (const auto& [name, value] : server.env)
        rules.expect(!name.empty() && !name.contains('='), below(at + "/env", name),
                     "is not the name of a variable");
    check_auth(server.auth, at + "/auth", rules);
    const McpAuthOptions& auth = server.auth;
    const bool proves = !auth.headers.empty() || auth.user || auth.client_credentials.has_value();
    rules.expect(!proves || auth.allow_plain || !is_plain_elsewhere(server.url), at + "/url",
                 "is http on another machine, where what auth sends could be read on the way: use "
                 "https://, or auth.allow_plain where something else encrypts");
    check_times(server, at, rules);
}

/// Names of servers qualify tools, names of scopes are paths.
void check_names(std::string_view section, Rules& rules) {
    const json::Value* const table = rules.document().value.resolve(section);
    if (table == nullptr || table->as_object() == nullptr) return;
    for (const auto& [name, _] : *table->as_object()) {
        const bool fits =
            !name.empty() && name.size() <= 32 &&
            name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
        rules.expect(fits, below(std::string(section), name),
                     "has to be named by small letters, digits and -, 32 at most");
    }
}

void check_scope(const McpScopeOptions& scope, const McpOptions& mcp, const std::string& at,
                 Rules& rules) {
    std::map<std::string_view, std::string_view> named;
    for (const auto& [from, to] : scope.rename) {
        const auto [other, is_new] = named.emplace(to, from);
        rules.expect(
            is_new, below(at + "/rename", from),
            fmt::format("gives a name that {} has, too; give each its own", other->second));
        rules.expect(to.size() <= mcp.names.max, below(at + "/rename", from),
                     "is longer than mcp.names.max");
    }
}

void check_oauth(const McpOauthOptions& oauth, Rules& rules) {
    const std::string at = "/mcp/oauth";
    rules.expect(is_safe(oauth.issuer), at + "/issuer",
                 "has to be an https URL, as the issuer writes it in its tokens");
    const auto resource = net::HttpUrl::parse(oauth.resource);
    rules.expect(is_safe(resource) && resource->query.empty() &&
                     oauth.resource == resource->origin() + resource->path &&
                     !resource->path.ends_with('/'),
                 at + "/resource",
                 "has to be the https URL of the endpoint, its host in lower case, without a / at "
                 "its end: https://gw.example/mcp");
    rules.expect(oauth.jwks.empty() || is_safe(oauth.jwks), at + "/jwks",
                 "has to be an https URL; without it that of the issuer's metadata counts");
    rules.expect(oauth.introspection.empty() || is_safe(oauth.introspection),
                 at + "/introspection/url", "has to be an https URL");
    rules.expect(
        oauth.introspection_secret.text.reveal().empty() || !oauth.introspection_client.empty(),
        at + "/introspection/client_secret", "needs client_id beside it");
    for (std::size_t i = 0; i < oauth.scopes.size(); ++i) {
        const std::string scope = fmt::format("{}/scopes/{}", at, i);
        rules.expect(std::ranges::all_of(
                         oauth.scopes[i],
                         [](char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\'; }),
                     scope, "has to be a word without blanks, quotes and backslashes");
        rules.expect(oauth.scopes[i] != "offline_access", scope,
                     "is no scope of a resource: refresh tokens are between clients and issuer");
    }
}

}  // namespace

void check_mcp(const McpOptions& mcp, Rules& rules) {
    check_names("/mcp/servers", rules);
    check_names("/mcp/scopes", rules);
    for (const std::string_view taken : {"sse", "messages"})
        rules.expect(!mcp.scopes.contains(taken), fmt::format("/mcp/scopes/{}", taken),
                     "is the name of another path below /mcp");
    for (const auto& [name, server] : mcp.servers)
        check_server(server, below("/mcp/servers", name), rules);
    for (const auto& [name, scope] : mcp.scopes)
        check_scope(scope, mcp, below("/mcp/scopes", name), rules);
    if (mcp.oauth) check_oauth(*mcp.oauth, rules);
    const auto document = net::HttpUrl::parse(mcp.client_metadata_url);
    rules.expect(
        mcp.client_metadata_url.empty() || (document && document->tls && document->path.size() > 1),
        "/mcp/client_metadata_url",
        "has to be an https URL with a path, such as https://gw.example/client.json");
    for (const char* key :
         {"stream_after", "keepalive", "list_ttl", "session_idle", "task_after", "input_wait"})
        expect_time(below("/mcp", key), rules);
    rules.expect(mcp.keepalive >= std::chrono::milliseconds(100), "/mcp/keepalive",
                 "has to be at least 100ms");
}

}  // namespace crab::config
