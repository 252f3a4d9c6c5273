#pragma once

#include "hosts/command/file_handle.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace crab::command {

/// Maps a path to all paths of the same file in this process's mount table: bind mounts show a
/// folder at several paths. Source: proc_pid_mountinfo(5).
class MountedPaths {
public:
    explicit MountedPaths(const std::filesystem::path& table = "/proc/self/mountinfo");

    /// `path`, which is absolute and without links, and all other paths of the same file, which
    /// need not exist.
    std::vector<std::filesystem::path> of(const std::filesystem::path& path) const;

private:
    struct Mount {
        std::string device;  ///< `major:minor`
        std::filesystem::path root, point;  ///< folder of the file system, and its mount point
    };
    std::vector<Mount> mounts_;
};

/// Whether `path` is `folder` or below it, by the identity of its parents.
bool is_within(const std::filesystem::path& path, const FileIdentity& folder);

}  // namespace crab::command
