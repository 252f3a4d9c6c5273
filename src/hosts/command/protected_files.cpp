#include "hosts/command/protected_files.hpp"

#include "hosts/command/mounted_paths.hpp"

#include <algorithm>

#include <sys/stat.h>

namespace crab::command {
namespace {

namespace fs = std::filesystem;

void add_new(std::vector<fs::path>& list, fs::path path) {
    if (!path.empty() && std::ranges::find(list, path) == list.end())
        list.push_back(std::move(path));
}

/// Whether `inner` can be seen anywhere within `outer`.
bool contains(const MountedPaths& visible, const FileIdentity& outer, const fs::path& inner) {
    return std::ranges::any_of(visible.of(inner),
                               [&](const fs::path& place) { return is_within(place, outer); });
}

}  // namespace

ProtectedFiles::ProtectedFiles(const std::vector<fs::path>& paths) {
    for (const fs::path& path : paths) {
        auto held = FileHandle::open(path);
        all_.push_back(
            {.path = fs::absolute(path), .held = held ? std::move(*held) : FileHandle()});
    }
}

std::vector<fs::path> ProtectedFiles::Own::names() const {
    std::vector<fs::path> names;
    std::error_code error;
    // A link among its names counts itself, and so does where it leads: whoever changes the link
    // changes what is read.
    const fs::path folder = fs::weakly_canonical(path.parent_path(), error);
    if (!error) add_new(names, folder / path.filename());
    const fs::path real = fs::weakly_canonical(path, error);
    if (!error) add_new(names, real);
    add_new(names, held.place());
    return names;
}

std::vector<fs::path> ProtectedFiles::places() const {
    const MountedPaths visible;
    std::vector<fs::path> all;
    for (const Own& own : all_) {
        for (const fs::path& name : own.names()) {
            for (fs::path& place : visible.of(name)) add_new(all, std::move(place));
        }
    }
    return all;
}

std::optional<fs::path> ProtectedFiles::met_by(const FileHandle& folder) const {
    const MountedPaths visible;
    const fs::path place = folder.place();
    for (const Own& own : all_) {
        for (const fs::path& name : own.names()) {
            if (contains(visible, folder.identity(), name)) return own.path;
            std::error_code error;
            if (fs::is_directory(name, error) && !place.empty() &&
                contains(visible, FileIdentity::of(name), place))
                return own.path;
        }
    }
    return std::nullopt;
}

std::optional<fs::path> ProtectedFiles::linked_in(const FileHandle& folder) const {
    std::vector<const Own*> linked;
    for (const Own& own : all_) {
        struct stat about{};
        const bool has_more = own.held.is_open() && !own.held.is_folder() &&
                              ::stat(own.held.link().c_str(), &about) == 0 && about.st_nlink > 1;
        if (has_more && about.st_dev == folder.identity().device) linked.push_back(&own);
    }
    std::error_code error;
    if (linked.empty()) return std::nullopt;
    for (fs::recursive_directory_iterator
             at(folder.link() + "/", fs::directory_options::skip_permission_denied, error),
         end;
         !error && at != end; at.increment(error)) {
        const FileIdentity found = FileIdentity::of(at->path());
        for (const Own* own : linked) {
            if (own->held.identity() == found) return own->path;
        }
    }
    return std::nullopt;
}

bool overlap(const FileHandle& one, const FileHandle& other) {
    const MountedPaths visible;
    return contains(visible, one.identity(), other.place()) ||
           contains(visible, other.identity(), one.place());
}

}  // namespace crab::command
