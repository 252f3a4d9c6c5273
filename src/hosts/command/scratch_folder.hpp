#pragma once

#include "base/descriptor.hpp"

#include <filesystem>
#include <optional>

namespace crab::command {

/// A private folder under /tmp for the temporary files of one command; removed on destruction.
/// Locked (flock) while in use, so that folders of a killed gateway can be recognised.
class ScratchFolder {
public:
    /// Nothing with errno set on failure.
    static std::optional<ScratchFolder> make(const std::filesystem::path& parent = "/tmp");
    /// Removes unlocked folders of this user in `parent`; call it at start.
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
