#pragma once

#include "base/descriptor.hpp"

#include <filesystem>
#include <optional>

namespace crab::command {

/// A folder under /tmp for the scratch files of one command, which only this user may enter;
/// removed with the object. It is locked (flock) while it is in use, so that the folders of a
/// gateway that was killed can be told from those of one that runs.
class ScratchFolder {
public:
    /// Nothing with errno set when it cannot be made.
    static std::optional<ScratchFolder> make(const std::filesystem::path& parent = "/tmp");
    /// Removes the folders of this user in `parent` that nobody holds; to be called at start.
    static void remove_leftovers(const std::filesystem::path& parent = "/tmp");

    ScratchFolder(ScratchFolder&&) noexcept = default;
    ScratchFolder& operator=(ScratchFolder&&) = delete;
    ~ScratchFolder();

    const std::filesystem::path& path() const { return path_; }

private:
    ScratchFolder(std::filesystem::path path, Descriptor lock)
        : path_(std::move(path)), lock_(std::move(lock)) {}

    std::filesystem::path path_;
    Descriptor lock_;   ///< closed: moved from
};

}  // namespace crab::command
