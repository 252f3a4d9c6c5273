#pragma once

#include "config/paths.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace crab::bridge {

/// Where the bridge of one user reads and writes (XDG Base Directory Specification). Reads nothing
/// and creates nothing.
struct BridgePaths {
    std::vector<std::filesystem::path> data_dirs;  ///< $XDG_DATA_HOME, then each of $XDG_DATA_DIRS
    std::filesystem::path choices;  ///< $XDG_CONFIG_HOME/crab/providers.json
    std::filesystem::path status;  ///< bridge.json in the runtime folder
    std::filesystem::path lock;  ///< held while a bridge runs
    std::filesystem::path token;  ///< bridge.token in the state folder
    std::string runtime_dir;  ///< $XDG_RUNTIME_DIR, what `%t` in a manifest stands for
    std::string locale;  ///< of LC_ALL, LC_MESSAGES, LANG the first that is set

    static BridgePaths find(const config::Environment& environment = config::process_environment());
};

}  // namespace crab::bridge
