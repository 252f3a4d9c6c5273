#include "config/paths.hpp"

#include "config/gateway_config.hpp"

#include <cstdlib>
#include <cstring>

#include <sys/stat.h>

#include <fmt/format.h>

namespace crab::config {
namespace {

const std::filesystem::path kSystemState = "/var/lib/crab";
const std::filesystem::path kSystemRuntime = "/run/crab";

/// The XDG specification: a variable that is unset, empty or relative does not count.
std::filesystem::path directory(const Environment& environment, std::string_view variable) {
    const std::filesystem::path path = environment(variable).value_or("");
    return path.is_absolute() ? path : std::filesystem::path();
}

std::filesystem::path base_directory(const Environment& environment, std::string_view variable,
                                     std::string_view below_home) {
    if (std::filesystem::path path = directory(environment, variable); !path.empty()) return path;
    const std::filesystem::path home = directory(environment, "HOME");
    return home.empty() ? home : home / below_home;
}

}  // namespace

Environment process_environment() {
    return [](std::string_view name) -> std::optional<std::string> {
        const char* value = std::getenv(std::string(name).c_str());
        return value ? std::optional<std::string>(value) : std::nullopt;
    };
}

Paths Paths::find(bool system_service, unsigned uid, const Environment& environment) {
    Paths paths;
    paths.system_config = "/etc/crab/gateway.yaml";
    const std::filesystem::path given_state = directory(environment, "STATE_DIRECTORY");
    const bool service = system_service || (uid == 0 && !given_state.empty());
    if (service) {
        const std::filesystem::path given_runtime = directory(environment, "RUNTIME_DIRECTORY");
        paths.state_dir = given_state.empty() ? kSystemState : given_state;
        paths.runtime_dir = given_runtime.empty() ? kSystemRuntime : given_runtime;
        return paths;
    }
    const std::filesystem::path config = base_directory(environment, "XDG_CONFIG_HOME", ".config");
    const std::filesystem::path state =
        base_directory(environment, "XDG_STATE_HOME", ".local/state");
    const std::filesystem::path runtime = directory(environment, "XDG_RUNTIME_DIR");
    if (!config.empty()) paths.user_config = config / "crab/gateway.yaml";
    paths.state_dir = state.empty() ? kSystemState : state / "crab";
    paths.runtime_dir =
        uid == 0 ? kSystemRuntime : std::filesystem::path(fmt::format("/tmp/crab-{}", uid));
    if (!runtime.empty()) paths.runtime_dir = runtime / "crab";
    return paths;
}

std::vector<std::filesystem::path> Paths::config_candidates() const {
    if (user_config.empty()) return {system_config};
    return {user_config, system_config};
}

std::filesystem::path Paths::state_dir_of(const GatewayConfig& config) const {
    return config.gateway.state_dir.empty() ? state_dir : config.gateway.state_dir;
}

std::filesystem::path Paths::runtime_dir_of(const GatewayConfig& config) const {
    return config.gateway.runtime_dir.empty() ? runtime_dir : config.gateway.runtime_dir;
}

std::filesystem::path Paths::admin_socket_of(const GatewayConfig& config) const {
    return config.listen.admin_socket.empty() ? runtime_dir_of(config) / "admin.sock"
                                              : config.listen.admin_socket;
}

std::filesystem::path client_socket(const std::filesystem::path& given, const GatewayConfig& config,
                                    const Paths& paths, const Environment& environment) {
    if (!given.empty()) return given;
    if (const auto named = environment("CRAB_SOCKET"); named && !named->empty()) return *named;
    return paths.admin_socket_of(config);
}

Result<void> ensure_private_directory(const std::filesystem::path& directory, unsigned uid) {
    std::error_code error;
    if (directory.has_parent_path())
        std::filesystem::create_directories(directory.parent_path(), error);
    if (::mkdir(directory.c_str(), 0700) == 0) return {};
    const int reason = errno;
    struct stat status{};
    // lstat: a link that somebody else placed in /tmp must not lead us into a directory of theirs.
    if (::lstat(directory.c_str(), &status) != 0) {
        return fail(ErrorCode::kForbidden, fmt::format("cannot make the directory {}: {}",
                                                       directory.string(), std::strerror(reason)));
    }
    if (!S_ISDIR(status.st_mode))
        return fail(ErrorCode::kForbidden,
                    fmt::format("{} is not a directory; remove it", directory.string()));
    if (status.st_uid != uid)
        return fail(
            ErrorCode::kForbidden,
            fmt::format("the directory {} belongs to another user; remove it", directory.string()));
    if ((status.st_mode & 077) != 0) {
        return fail(ErrorCode::kForbidden,
                    fmt::format("others may enter the directory {}; run chmod 700 on it",
                                directory.string()));
    }
    return {};
}

}  // namespace crab::config
