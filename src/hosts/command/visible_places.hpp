#pragma once

#include "hosts/command/held_file.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace crab::command {

/// Under which names this process sees files, by its table of mounts: a bind mount shows one folder
/// at two places. Source: proc_pid_mountinfo(5).
class VisiblePlaces {
public:
    explicit VisiblePlaces(const std::filesystem::path& table = "/proc/self/mountinfo");

    /// `path`, which is absolute and without links, and all other places of what lies there. It
    /// need not exist.
    std::vector<std::filesystem::path> of(const std::filesystem::path& path) const;

private:
    struct Mount {
        std::string device;  ///< `major:minor`
        std::filesystem::path root, point;  ///< which folder of the filesystem is seen where
    };
    std::vector<Mount> mounts_;
};

/// Whether `path` is `folder` or lies in it, by the identity of what it passes through.
bool is_within(const std::filesystem::path& path, const FileIdentity& folder);

}  // namespace crab::command
