#include "bridge/bridge_paths.hpp"

#include <string_view>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::bridge {

BridgePaths BridgePaths::find(const config::Environment& environment) {
    const auto folder = [&](std::string_view name, std::string otherwise) {
        const auto value = environment(name);
        // the specification has relative ones ignored
        return value && value->starts_with('/') ? *value : std::move(otherwise);
    };
    const std::string home = environment("HOME").value_or("/");
    const config::Paths paths = config::Paths::find(false, ::geteuid(), environment);
    BridgePaths found;
    found.data_dirs.emplace_back(folder("XDG_DATA_HOME", home + "/.local/share"));
    std::string rest = environment("XDG_DATA_DIRS").value_or("");
    if (rest.empty()) rest = "/usr/local/share:/usr/share";
    for (std::string_view dirs = rest; !dirs.empty();) {
        const std::size_t colon = dirs.find(':');
        if (dirs.starts_with('/')) found.data_dirs.emplace_back(dirs.substr(0, colon));
        dirs = colon == dirs.npos ? std::string_view() : dirs.substr(colon + 1);
    }
    found.choices = std::filesystem::path(folder("XDG_CONFIG_HOME", home + "/.config")) / "crab" /
                    "providers.json";
    found.status = paths.runtime_dir / "bridge.json";
    found.lock = paths.runtime_dir / "bridge.lock";
    found.token = paths.state_dir / "bridge.token";
    found.runtime_dir = folder("XDG_RUNTIME_DIR", fmt::format("/run/user/{}", ::geteuid()));
    for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
        if (auto value = environment(name); value && !value->empty() && found.locale.empty())
            found.locale = *value;
    }
    return found;
}

}  // namespace crab::bridge
