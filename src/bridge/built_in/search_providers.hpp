#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace crab::bridge {

/// An app that can be searched over the session bus.
struct SearchProvider {
    enum class Api : std::uint8_t { kGnomeShell, kRunner };
    Api api = Api::kGnomeShell;
    std::string bus_name{}, object_path{};
    std::string name{};  ///< for people
};

/// What apps declare for GNOME Shell (`gnome-shell/search-providers/*.ini`) and KRunner
/// (`krunner/dbusplugins/*.desktop`), each file name once, the first folder first. Blocks.
std::vector<SearchProvider> read_search_providers(
    const std::vector<std::filesystem::path>& data_dirs, const std::string& locale);

}  // namespace crab::bridge
