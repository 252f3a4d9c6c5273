#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crab::crypto {

/// A directory of mode 0700 that holds keys and certificates. Blocks on the disk; not for an event
/// loop. Its messages contain file names without folders.
class KeyFolder {
public:
    /// Mode of a file: 0600 or 0644.
    enum class Access : std::uint8_t { kPrivate, kPublic };

    /// Opens or creates the directory. Errors: kUnavailable; kForbidden when it belongs to another
    /// user or its mode is wider than 0700.
    static Result<KeyFolder> open(const std::filesystem::path& path);

    /// The file's content; nothing when there is none. Errors: kUnavailable; kOversize above 1 MiB;
    /// kForbidden when it is not a regular file, belongs to another user, or its mode is wider than
    /// `access`.
    Result<std::optional<std::string>> read(std::string_view name, Access access) const;
    /// Replaces the file atomically and durably: writes a new file, syncs it, renames it, syncs the
    /// directory. After a crash the file is the old one or the new one. Errors: kUnavailable.
    Result<void> write(std::string_view name, std::string_view content, Access access) const;

private:
    explicit KeyFolder(std::shared_ptr<const int> directory) : directory_(std::move(directory)) {}
    // a descriptor, so that renaming the folder has no effect
    std::shared_ptr<const int> directory_;
};

}  // namespace crab::crypto
