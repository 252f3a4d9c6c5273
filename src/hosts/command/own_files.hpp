#pragma once

#include "hosts/command/held_file.hpp"

#include <filesystem>
#include <optional>
#include <vector>

namespace crab::command {

/// The files and folders of crab itself: state, sockets, configuration, keys and secrets. Commands
/// neither see nor move them. They are known by what they are, not by their names alone: held open
/// from the start, and looked for at every name that they have now.
class OwnFiles {
public:
    OwnFiles() = default;
    /// Absolute paths; what does not exist yet is known by its path.
    explicit OwnFiles(const std::vector<std::filesystem::path>& paths);

    /// Where they can be seen at this moment: at their paths, where links lead, where they were
    /// moved to, and in other mounts. Blocks.
    std::vector<std::filesystem::path> places() const;
    /// The first that `folder` contains or is, or, for a folder of crab, that it lies in. Blocks.
    std::optional<std::filesystem::path> met_by(const HeldFile& folder) const;
    /// The first that has a second name (a hard link) in `folder`. Reads the whole folder if there
    /// is any that could. Blocks.
    std::optional<std::filesystem::path> linked_in(const HeldFile& folder) const;

private:
    struct Own {
        std::filesystem::path path;
        HeldFile held;  ///< nothing when it did not exist
        std::vector<std::filesystem::path> names() const;
    };
    std::vector<Own> all_;
};

/// Whether one of two folders contains the other, or is it, at any of the places where they can be
/// seen. Blocks.
bool overlap(const HeldFile& one, const HeldFile& other);

}  // namespace crab::command
