#include "gateway/operator/config_findings.hpp"

#include "base/closest_name.hpp"
#include "base/glob.hpp"
#include "net/loop/endpoint.hpp"
#include "setup/tls_certificates.hpp"
#include "trust/slug.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::gateway {
namespace {

namespace fs = std::filesystem;

/// What the ids of principals begin with (trust/named_principal.cpp; agent/: the turns that events
/// start).
const std::vector<std::string> kPrincipalKinds{"caller",     "oauth",    "device",
                                               "local",      "agent",    "tool_host",
                                               "subscriber", "listener", "operator"};

/// Callers and devices are known by what trust::make_slug() made of their names.
std::string why_no_slug(std::string_view pattern) {
    const std::size_t slash = pattern.find('/');
    const std::string_view kind = pattern.substr(0, slash);
    if (kind != "caller" && kind != "device") return {};
    const std::string_view name = pattern.substr(slash + 1);
    constexpr std::string_view kOfSlugs = "abcdefghijklmnopqrstuvwxyz0123456789_-*?";
    const bool is_glob = name.find_first_of("*?") != std::string_view::npos;
    const std::string slug = trust::make_slug(name, {});
    if (is_glob ? name.find_first_not_of(kOfSlugs) == std::string_view::npos : slug == name)
        return {};
    return fmt::format(
        "no principal is called {}; ids are of lower-case letters, digits, - and _{}", pattern,
        is_glob || slug.empty() ? std::string("; `crab tokens list` has them")
                                : fmt::format(": a token named {} is {}/{}", name, kind, slug));
}

class ConfigChecks {
public:
    ConfigChecks(const config::GatewayConfig& config, const config::Paths& paths, unsigned uid)
        : config_(config), paths_(paths), uid_(uid) {}

    config::Findings all() {
        tls("listen.tls", config_.listen.tls);
        tls("grpc.tls", config_.grpc.tls);
        hooks();
        folders();
        sockets();
        rules();
        for (const auto& [name, server] : config_.mcp.servers) mcp_server(name, server);
        return std::move(findings_);
    }

private:
    void problem(std::string text) { findings_.problems.push_back(std::move(text)); }
    void warning(std::string text) { findings_.warnings.push_back(std::move(text)); }

    void tls(std::string_view key, const std::optional<config::TlsOptions>& options) {
        if (!options) return;
        const auto checked =
            setup::check_tls_files(options->cert, options->key, std::chrono::system_clock::now());
        if (checked) return;
        std::string message = fmt::format("{}: {}", key, checked.error().message);
        // The library does not say which of the two files it was.
        for (const fs::path& file : {options->cert, options->key}) {
            if (message.find(file.string()) == std::string::npos)
                message += fmt::format(" ({})", file.string());
        }
        problem(std::move(message));
    }

    void hooks() {
        for (const config::HookRule& hook : config_.hooks) {
            if (hook.type != config::HookType::kCommand || hook.run.empty() ||
                is_program(hook.run.front()))
                continue;
            problem(fmt::format(
                "hooks: {}: {} is not a program that can be run; every call it looks at "
                "would be denied",
                hook.name, hook.run.front()));
        }
    }

    static bool is_program(const std::string& name) {
        const auto runs = [](const fs::path& path) {
            std::error_code error;
            return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
        };
        if (name.find('/') != std::string::npos) return runs(name);
        const char* const path = std::getenv("PATH");
        std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
        while (!rest.empty()) {
            const std::string_view folder = rest.substr(0, rest.find(':'));
            rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
            if (runs(fs::path(folder) / name)) return true;
        }
        return false;
    }

    void folders() {
        const std::pair<std::string_view, fs::path> own[] = {
            {"the state directory", paths_.state_dir_of(config_)},
            {"the folder of the admin socket", paths_.admin_socket_of(config_).parent_path()}};
        for (const auto& [what, path] : own) {
            struct stat status{};
            if (::lstat(path.c_str(), &status) != 0) continue;  // it will be made
            if (!S_ISDIR(status.st_mode))
                problem(fmt::format("{} {} is not a directory", what, path.string()));
            else if (status.st_uid != uid_)
                warning(
                    fmt::format("{} {} belongs to another user; the gateway has to run as that one",
                                what, path.string()));
            else if ((status.st_mode & 077) != 0)
                problem(fmt::format("others may enter {} {}; run chmod 700 on it", what,
                                    path.string()));
        }
    }

    void sockets() {
        socket_path("the admin socket", paths_.admin_socket_of(config_));
        if (!config_.grpc.unix_socket.empty()) socket_path("grpc.unix", config_.grpc.unix_socket);
        for (const config::ToolHostOptions& host : config_.hosts) {
            if (host.unix_socket.empty()) continue;
            if (!socket_path(fmt::format("hosts: {}", host.name), host.unix_socket)) continue;
            struct stat status{};
            if (::stat(host.unix_socket.c_str(), &status) != 0) {
                warning(fmt::format(
                    "hosts: {}: nothing is at {} yet; its tools appear when the host listens there",
                    host.name, host.unix_socket.string()));
            } else if (!S_ISSOCK(status.st_mode)) {
                problem(fmt::format("hosts: {}: {} is not a socket", host.name,
                                    host.unix_socket.string()));
            } else if (::access(host.unix_socket.c_str(), R_OK | W_OK) != 0) {
                problem(fmt::format("hosts: {}: {} may not be opened by this user", host.name,
                                    host.unix_socket.string()));
            }
        }
        for (const auto& [key, address] :
             {std::pair{"listen.public", config_.listen.public_address},
              {"listen.peers", config_.listen.peers},
              {"grpc.listen", config_.grpc.address}}) {
            if (!address) continue;
            if (const auto found = net::resolve(net::Endpoint::tcp(address->host, address->port));
                !found)
                problem(fmt::format("{}: {}", key, found.error().message));
        }
    }

    bool socket_path(const std::string& what, const fs::path& path) {
        if (path.native().size() < sizeof(sockaddr_un::sun_path)) return true;
        problem(fmt::format("{}: {} is too long for a socket: at most {} bytes", what,
                            path.string(), sizeof(sockaddr_un::sun_path) - 1));
        return false;
    }

    void rules() {
        for (std::size_t i = 0; i < config_.policy.size(); ++i) {
            principal(fmt::format("policy[{}].principal", i), config_.policy[i].principal);
        }
        for (std::size_t i = 0; i < config_.rates.size(); ++i)
            principal(fmt::format("rates[{}].principal", i), config_.rates[i].principal);
    }

    void mcp_server(const std::string& name, const config::McpServerOptions& server) {
        if (!server.enabled) return;
        const std::string key = fmt::format("mcp.servers.{}", name);
        if (const auto& own = server.auth.client_credentials)
            readable(key + ".auth.client_credentials.key_file", own->key_file);
        readable(key + ".tls.ca", server.tls.ca);
        readable(key + ".tls.cert", server.tls.cert);
        readable(key + ".tls.key", server.tls.key);
        if (!server.command.empty() && !is_program(server.command))
            warning(
                fmt::format("{}.command: {} is not a program that can be run here; name it "
                            "with its path, or install it",
                            key, server.command));
        std::error_code error;
        if (!server.cwd.empty() && !fs::is_directory(server.cwd, error))
            warning(fmt::format("{}.cwd: {} is not a folder; make it, or leave cwd out", key,
                                server.cwd.string()));
    }

    void readable(const std::string& key, const fs::path& file) {
        if (file.empty() || ::access(file.c_str(), R_OK) == 0) return;
        problem(fmt::format("{}: {} cannot be read; it has to exist and be readable by this user",
                            key, file.string()));
    }

    void principal(const std::string& key, const std::string& pattern) {
        if (const std::string why = why_nobody(pattern); !why.empty())
            return problem(fmt::format("{}: {}", key, why));
        constexpr std::string_view kAgent = "agent/";
        if (!pattern.starts_with(kAgent)) return;
        const Glob agents(pattern.substr(kAgent.size()));
        const bool is_known = std::ranges::any_of(
            config_.agents, [&](const auto& each) { return agents.matches(each.name); });
        if (!is_known && agents.is_literal())
            warning(fmt::format("{}: no agent is called {}; `agents` names them", key,
                                agents.pattern()));
    }

    const config::GatewayConfig& config_;
    const config::Paths& paths_;
    const unsigned uid_;
    config::Findings findings_;
};

}  // namespace

std::string why_nobody(std::string_view pattern) {
    const Glob glob{std::string(pattern)};
    const auto is_of = [&](const std::string& kind) { return glob.overlaps(Glob(kind + "/?*")); };
    if (std::ranges::any_of(kPrincipalKinds, is_of)) return why_no_slug(pattern);
    const std::size_t slash = pattern.find('/');
    if (slash == std::string_view::npos && glob.is_literal())
        return fmt::format("no principal is called {0}; write caller/{0} or device/{0}", pattern);
    const std::string_view near = closest_name(pattern.substr(0, slash), kPrincipalKinds);
    return fmt::format(
        "no principal is called {}; ids begin with {}{}", pattern,
        fmt::join(kPrincipalKinds, "/, "),
        near.empty() || slash == std::string_view::npos || slash + 1 == pattern.size()
            ? "/"
            : fmt::format("/; did you mean {}{}?", near, pattern.substr(slash)));
}

config::Findings look_around(const config::GatewayConfig& config, const config::Paths& paths,
                             unsigned uid) {
    return ConfigChecks(config, paths, uid).all();
}

}  // namespace crab::gateway
