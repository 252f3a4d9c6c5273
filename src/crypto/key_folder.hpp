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
/// loop. Its messages name files, not where they are.
class KeyFolder {
public:
    /// Who may read a file: its owner (0600), or everybody who gets that far (0644).
    enum class Access : std::uint8_t { kPrivate, kPublic };

    /// Opens the directory, or makes it. Errors: kUnavailable; kForbidden when it is another user's
    /// or its mode is wider than 0700.
    static Result<KeyFolder> open(const std::filesystem::path& path);

    /// The file's content; nothing when there is none. Errors: kUnavailable; kOversize above 1 MiB;
    /// kForbidden when it is not a plain file, another user's, or may be read or written by more
    /// people than `access` says.
    Result<std::optional<std::string>> read(std::string_view name, Access access) const;
    /// Replaces the file durably and in one step: written aside, synced, renamed, the directory
    /// synced. After a crash the file is the old one or the new one. Errors: kUnavailable.
    Result<void> write(std::string_view name, std::string_view content, Access access) const;

private:
    explicit KeyFolder(std::shared_ptr<const int> directory) : directory_(std::move(directory)) {}
    // a descriptor: the folder stays the same when its name moves
    std::shared_ptr<const int> directory_;
};

}  // namespace crab::crypto
