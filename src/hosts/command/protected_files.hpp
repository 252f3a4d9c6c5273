#pragma once

#include "hosts/command/file_handle.hpp"

#include <filesystem>
#include <optional>
#include <vector>

namespace crab::command {

/// The files and folders of crab itself: state, sockets, configuration, keys and secrets. Commands
/// neither see nor move them. They are tracked by identity, not only by name: held open from the
/// start, and searched under all their current names.
class ProtectedFiles {
public:
    ProtectedFiles() = default;
    /// Absolute paths; files that do not exist yet are tracked by path.
    explicit ProtectedFiles(const std::vector<std::filesystem::path>& paths);

    /// All paths at which they are visible now: their paths, link targets, new locations, and other
    /// mounts. Blocks.
    std::vector<std::filesystem::path> places() const;
    /// The first one that overlaps `folder`. Blocks.
    std::optional<std::filesystem::path> met_by(const FileHandle& folder) const;
    /// The first one with a hard link in `folder`. Reads the whole folder if any could have one.
    /// Blocks.
    std::optional<std::filesystem::path> linked_in(const FileHandle& folder) const;

private:
    struct Own {
        std::filesystem::path path;
        FileHandle held;  ///< nothing when it did not exist
        std::vector<std::filesystem::path> names() const;
    };
    std::vector<Own> all_;
};

/// Whether two folders overlap at any path where they are visible. Blocks.
bool overlap(const FileHandle& one, const FileHandle& other);

}  // namespace crab::command
