#include "bridge/built_in/search_providers.hpp"

#include "adapters/cetp/key_file.hpp"
#include "adapters/cetp/manifest.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

namespace crab::bridge {
namespace {

using cetp::KeyFile;
using std::filesystem::path;

std::optional<KeyFile> read_key_file(const path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::string text(KeyFile::kMaxBytes + 1, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(stream.gcount()));
    auto parsed = KeyFile::parse(text);
    return parsed ? std::optional(*std::move(parsed)) : std::nullopt;
}

/// The name of the app with that desktop file; the file's stem when there is none.
std::string app_name(const std::vector<path>& data_dirs, const std::string& desktop_id,
                     const std::string& locale) {
    for (const path& dir : data_dirs) {
        std::error_code ignored;
        if (!std::filesystem::is_regular_file(dir / "applications" / desktop_id, ignored)) continue;
        const auto file = read_key_file(dir / "applications" / desktop_id);
        if (auto name = file ? file->get_localized("Desktop Entry", "Name", locale) : std::nullopt)
            return *name;
    }
    return path(desktop_id).stem();
}

std::optional<SearchProvider> read_gnome(const KeyFile& file, const std::vector<path>& data_dirs,
                                         const std::string& locale) {
    constexpr std::string_view kGroup = "Shell Search Provider";
    if (file.get(kGroup, "Version") != "2") return std::nullopt;
    return SearchProvider{
        .api = SearchProvider::Api::kGnomeShell,
        .bus_name = file.get(kGroup, "BusName").value_or(""),
        .object_path = file.get(kGroup, "ObjectPath").value_or(""),
        .name = app_name(data_dirs, file.get(kGroup, "DesktopId").value_or(""), locale)};
}

std::optional<SearchProvider> read_runner(const KeyFile& file, const std::string& locale) {
    constexpr std::string_view kGroup = "Desktop Entry";
    if (file.get(kGroup, "X-Plasma-API") != "DBus") return std::nullopt;
    std::string bus_name = file.get(kGroup, "X-Plasma-DBusRunner-Service").value_or("");
    std::string name = file.get_localized(kGroup, "Name", locale).value_or(bus_name);
    return SearchProvider{.api = SearchProvider::Api::kRunner,
                          .bus_name = std::move(bus_name),
                          .object_path = file.get(kGroup, "X-Plasma-DBusRunner-Path").value_or(""),
                          .name = std::move(name)};
}

}  // namespace

std::vector<SearchProvider> read_search_providers(const std::vector<path>& data_dirs,
                                                  const std::string& locale) {
    std::vector<SearchProvider> found;
    std::set<path> seen;
    for (const bool gnome : {true, false}) {
        for (const path& dir : data_dirs) {
            const path folder =
                gnome ? dir / "gnome-shell" / "search-providers" : dir / "krunner" / "dbusplugins";
            std::error_code ignored;  // a folder that is missing holds nothing
            for (auto entry = std::filesystem::directory_iterator(folder, ignored);
                 entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
                if (entry->path().extension() != (gnome ? ".ini" : ".desktop") ||
                    !seen.insert(entry->path().filename()).second)
                    continue;
                const auto file = read_key_file(entry->path());
                auto provider = !file   ? std::nullopt
                                : gnome ? read_gnome(*file, data_dirs, locale)
                                        : read_runner(*file, locale);
                if (provider && cetp::is_bus_name(provider->bus_name) &&
                    cetp::is_object_path(provider->object_path))
                    found.push_back(*std::move(provider));
            }
        }
    }
    std::ranges::sort(found, {}, &SearchProvider::name);
    return found;
}

}  // namespace crab::bridge
