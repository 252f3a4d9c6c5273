#include "hosts/command/mounted_paths.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace crab::command {
namespace {

namespace fs = std::filesystem;

/// Spaces and the like are written as three octal digits.
fs::path unescaped(std::string_view text) {
    std::string path;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool escaped = text[at] == '\\' && at + 3 < text.size();
        if (escaped)
            path.push_back(static_cast<char>((text[at + 1] - '0') * 64 + (text[at + 2] - '0') * 8 +
                                             (text[at + 3] - '0')));
        else
            path.push_back(text[at]);
        if (escaped) at += 3;
    }
    return path;
}

/// What is left of `path` below `folder`, both without a `/` at the end; nothing when it does not
/// lie there.
std::optional<std::string_view> below(std::string_view path, std::string_view folder) {
    if (folder == "/") folder = {};
    if (!path.starts_with(folder)) return std::nullopt;
    path.remove_prefix(folder.size());
    if (!path.empty() && path.front() != '/') return std::nullopt;
    if (!path.empty()) path.remove_prefix(1);
    return path;
}

fs::path joined(const fs::path& folder, std::string_view rest) {
    return rest.empty() ? folder : folder / rest;
}

}  // namespace

MountedPaths::MountedPaths(const fs::path& table) {
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string id, parent, device, root, point;
        if (words >> id >> parent >> device >> root >> point)
            mounts_.push_back(
                {.device = device, .root = unescaped(root), .point = unescaped(point)});
    }
}

std::vector<fs::path> MountedPaths::of(const fs::path& path) const {
    std::vector<fs::path> places{path};
    const Mount* covering = nullptr;   // the longest, and of those the last: it lies on top
    for (const Mount& mount : mounts_) {
        const bool covers = below(path.native(), mount.point.native()).has_value();
        if (covers &&
            (covering == nullptr || mount.point.native().size() >= covering->point.native().size()))
            covering = &mount;
    }
    if (covering == nullptr) return places;
    const fs::path inner = joined(covering->root, *below(path.native(), covering->point.native()));
    const FileIdentity wanted = FileIdentity::of(path);
    for (const Mount& mount : mounts_) {
        if (&mount == covering || mount.device != covering->device) continue;
        const auto rest = below(inner.native(), mount.root.native());
        if (!rest) continue;
        fs::path place = joined(mount.point, *rest);
        const bool same = FileIdentity::of(place) == wanted;
        if (same && std::ranges::find(places, place) == places.end())
            places.push_back(std::move(place));
    }
    return places;
}

bool is_within(const fs::path& path, const FileIdentity& folder) {
    if (!folder.is_known()) return false;
    for (fs::path at = path;; at = at.parent_path()) {
        if (FileIdentity::of(at) == folder) return true;
        if (at == at.parent_path()) return false;
    }
}

}  // namespace crab::command
